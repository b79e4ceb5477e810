/** Copies results of user code. Uses saved built-ins, because a module may replace them later. */
const { create, getPrototypeOf, keys } = Object;
const { isArray } = Array;
const { isView } = ArrayBuffer;
const { apply } = Reflect;
const sliceOf = (getPrototypeOf(Int8Array.prototype) as { slice: (...given: unknown[]) => unknown }).slice;

/** Longer lists would make unusable prompts and policies, and fill the memory. */
export const longestList = 1_000_000;

const deepest = 64;

/**
 * A copy of data without functions and prototypes. Reads each property once; getters may throw.
 * @throws RangeError for a list of more than `longestList` items, or more than 64 levels
 */
export function plainCopy(value: unknown, depth = 0): unknown {
  if (typeof value === 'function' || typeof value === 'symbol') return undefined;
  if (typeof value !== 'object' || value === null) return value;
  if (depth > deepest) throw new RangeError(`it is nested more than ${deepest} levels deep`);
  if (isView(value) || isArray(value)) return copiedList(value as ArrayLike<unknown>, depth);
  const copy = create(null) as Record<string, unknown>;
  for (const key of keys(value)) copy[key] = plainCopy((value as Record<string, unknown>)[key], depth + 1);
  return copy;
}

function copiedList(list: ArrayLike<unknown>, depth: number): unknown {
  const { length } = list;
  if (length > longestList)
    throw new RangeError(`a list has ${length} items; at most ${longestList} are taken`);
  if (isView(list)) return length === undefined ? undefined : apply(sliceOf, list, []);
  const copy: unknown[] = [];
  for (let i = 0; i < length; i++) copy[i] = plainCopy(list[i], depth + 1);
  return copy;
}
