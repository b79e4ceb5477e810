/** Appends items to a list. `push(...items)` throws a RangeError beyond about 100,000 of them. */
export function append<T>(list: T[], items: Iterable<T>): void {
  for (const item of items) list.push(item);
}
