/** Tokeniser for `KB.logic`. */
import { UserError } from '../../../base/errors.js';

export interface LogicToken {
  readonly kind: 'name' | 'mark' | 'text';
  /** Without the quotes. */
  readonly text: string;
  /** 1-based line within the text. */
  readonly line: number;
}

const token =
  /(?<space>\s+|#[^\n]*)|"""(?<long>[\s\S]*?)"""|"(?<text>[^"\n]*)"|(?<name>\w[\w/]*'*)|(?<mark>::|->|[{}(),;:&$!=])/y;

/** @throws UserError for a character that isn't part of the language */
export function tokensOfLogic(source: string): LogicToken[] {
  const tokens: LogicToken[] = [];
  let line = 1;
  token.lastIndex = 0;
  while (token.lastIndex < source.length) {
    const from = token.lastIndex;
    const groups = token.exec(source)?.groups;
    if (groups === undefined)
      throw new UserError({
        field: 'KB.logic',
        line,
        value: source.slice(from, from + 20),
        message: 'this is not in the language of the rules of a game',
      });
    const { long, text, name, mark } = groups;
    const found = long ?? text;
    if (found !== undefined) tokens.push({ kind: 'text', text: found, line });
    else if (name !== undefined) tokens.push({ kind: 'name', text: name, line });
    else if (mark !== undefined) tokens.push({ kind: 'mark', text: mark, line });
    line += source.slice(from, token.lastIndex).split('\n').length - 1;
  }
  return tokens;
}
