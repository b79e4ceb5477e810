/** Appends items to a list. Unlike `push(...items)`, works for more than about 100,000 items. */
export function append<T>(list: T[], items: Iterable<T>): void {
  for (const item of items) list.push(item);
}
