import type { ParseResult } from '../../../src/prompting/answer/failure.js';

export interface ReadReply {
  readonly reply: string;
  /** The vector that a careful reader takes from it; null for none. */
  readonly meant: readonly number[] | null;
  readonly result: ParseResult;
}

const agrees = ({ meant, result }: ReadReply): boolean =>
  result.ok ? String(result.value) === String(meant) : meant === null;

/** The share of replies that are read as they are meant; prints the others if `SHOW` is set. */
export function shareOf(replies: readonly ReadReply[]): number {
  const others = replies.filter((reply) => !agrees(reply));
  if (process.env.SHOW) for (const other of others) process.stdout.write(`${JSON.stringify(other)}\n`);
  return 1 - others.length / replies.length;
}
