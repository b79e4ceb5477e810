/** Addresses within the live view. */

type Query = Readonly<Record<string, string | number | readonly string[] | undefined>>;

/** Returns a query string such as `?q=pole&of=run-1&of=run-2`, without empty values. */
export function queryOf(query: Query): string {
  const pairs = Object.entries(query).flatMap(([key, value = '']) =>
    [value].flat().map((item) => [key, String(item)]),
  );
  const queryString = String(new URLSearchParams(pairs.filter(([, value]) => value !== '')));
  return queryString && `?${queryString}`;
}

export const itemAddress = (name: string, query: Query = {}): string =>
  `/of/${name.split('/').map(encodeURIComponent).join('/')}${queryOf(query)}`;
