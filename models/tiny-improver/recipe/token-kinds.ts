/** The kinds of tokens in an answer. A token of the wrong kind makes the answer invalid. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface TokenKinds {
  /** Number of tokens. */
  readonly count: number;
  /** Kind of each token, by id. */
  readonly of: Int32Array;
}

/**
 * All values of the grid form one kind, and all whole numbers another; each parameter's key and the end of the answer
 * are kinds of their own; tokens that no answer contains form one kind.
 * @param directory directory of a model with the tiny improver's tokenizer
 */
export function tokenKinds(directory: string): TokenKinds {
  const { model } = JSON.parse(readFileSync(join(directory, 'tokenizer.json'), 'utf8')) as {
    model: { vocab: Record<string, number> };
  };
  const names = new Map<string, number>();
  const of = new Int32Array(Object.keys(model.vocab).length);
  for (const [spelled, id] of Object.entries(model.vocab)) {
    const name = kindOf(spelled.replaceAll('Ġ', ' '));
    if (!names.has(name)) names.set(name, names.size);
    of[id] = names.get(name)!;
  }
  return { count: names.size, of };
}

function kindOf(text: string): string {
  if (/^ -?\d+\.\d$/.test(text)) return 'value';
  if (/^ \d+$/.test(text)) return 'whole number';
  return /^(, )?params\[\d+\]:$/.test(text) || text === '<|end|>' ? text : 'other';
}
