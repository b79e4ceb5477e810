/** Values that the facts of an environment are made of. */

export type Facts = { readonly [name: string]: Fact };
export type Fact = string | number | boolean | readonly Fact[] | Facts;

/** Of an environment, in snake_case. */
export type Options = Readonly<Record<string, unknown>>;

/** The option, or its default where it is absent or null. */
export function option<T>(options: Options, name: string, fallback: T): T {
  return (options[name] ?? fallback) as T;
}

/** At most four significant digits: 0.3333, 15, -0.05. */
export function short(value: number): string {
  return String(Number(value.toPrecision(4)) + 0);
}
