/** Matches names against patterns. Pages of `policyloop view` also load this file, so it must not import anything. */

/**
 * True if a name matches a pattern with `*` (any characters) and `?` (one). Takes O(`pattern.length` · `name.length`)
 * steps.
 */
export function isMatch(pattern: string, name: string): boolean {
  let at = 0;
  let star = -1;
  let covered = 0;
  for (let i = 0; i < name.length; ) {
    if (pattern[at] === '*') {
      star = at++;
      covered = i;
    } else if (pattern[at] === '?' || pattern[at] === name[i]) {
      at++;
      i++;
    } else if (star >= 0) {
      // Extend the match of the last star by one character.
      at = star + 1;
      i = ++covered;
    } else return false;
  }
  while (pattern[at] === '*') at++;
  return at === pattern.length;
}
