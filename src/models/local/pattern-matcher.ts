/** Finds several ASCII patterns at once, byte by byte, without regard to case (Aho & Corasick 1975). */
export interface PatternMatcher<Role> {
  /** State 0 is the start. `role` is that of a pattern which ends with this byte. */
  step(state: number, byte: number): { readonly next: number; readonly role: Role | undefined };
}

export function patternMatcher<Role>(
  patterns: readonly { readonly text: string; readonly role: Role }[],
): PatternMatcher<Role> {
  const children: Map<number, number>[] = [new Map()];
  const roles: (Role | undefined)[] = [undefined];
  for (const { text, role } of patterns) {
    let state = 0;
    for (const byte of Buffer.from(text)) {
      let child = children[state]!.get(byte);
      if (child === undefined) {
        child = children.length;
        children.push(new Map());
        roles.push(undefined);
        children[state]!.set(byte, child);
      }
      state = child;
    }
    roles[state] = role;
  }
  // Breadth first: the longest proper suffix of a state is shorter, hence already complete.
  const suffix: number[] = new Array(children.length).fill(0);
  const table = new Int32Array(children.length * 256);
  const queue = [0];
  for (const state of queue) {
    roles[state] ??= roles[suffix[state]!];
    for (let byte = 0; byte < 256; byte++) {
      const child = children[state]!.get(byte);
      const elsewhere = state === 0 ? 0 : table[suffix[state]! * 256 + byte]!;
      if (child === undefined) {
        table[state * 256 + byte] = elsewhere;
      } else {
        suffix[child] = elsewhere;
        table[state * 256 + byte] = child;
        queue.push(child);
      }
    }
  }
  return {
    step(state, byte) {
      const lower = byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte;
      const next = table[state * 256 + lower]!;
      return { next, role: roles[next] };
    },
  };
}
