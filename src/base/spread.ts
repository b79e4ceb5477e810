/** Evenly spaced items of a list, including the first and the last; only the last if `count` is 1. */
export function spread<T>(list: readonly T[], count: number): readonly T[] {
  if (count >= list.length) return list;
  if (count === 1) return list.slice(-1);
  return Array.from({ length: count }, (_, i) => list[Math.round((i * (list.length - 1)) / (count - 1))]!);
}
