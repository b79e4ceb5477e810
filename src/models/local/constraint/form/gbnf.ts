/** Translates llama.cpp's grammars (GBNF) into expressions; vLLM's are almost the same. */
import { allCharacters, complement, type Ranges, utf8 } from './characters.js';
import { FormError } from './expression-table.js';
import type { Expressions } from './expressions.js';

const lexeme =
  /\s+|#[^\n]*|([\w-]+)\s*::=|([\w-]+)|"((?:[^"\\\n]|\\.)*)"|\[(\^?)((?:[^\]\\]|\\.)+)\]|([.|()*+?])|\{(\d+)(?:(,)(\d*))?\}/suy;
const item = /\\x([\dA-Fa-f]{2})|\\u([\dA-Fa-f]{4})|\\U([\dA-Fa-f]{8})|\\(.)|(.)/gsu;
const short: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' };
const most = 100_000;

/** @throws FormError naming the mistake, with its position if it has one */
export function gbnfExpression(e: Expressions, grammar: string): number {
  const tokens = lex(grammar);
  const rules = new Map<string, number>();
  const defined = new Set<string>();
  let at = 0;
  const ruleOf = (name: string) => {
    const known = rules.get(name) ?? e.reference();
    rules.set(name, known);
    return known;
  };

  function alternatives(): number {
    const options = [sequence()];
    while (tokens[at]?.kind === '|') {
      at++;
      options.push(sequence());
    }
    return e.either(...options);
  }

  function sequence(): number {
    const parts: number[] = [];
    for (let token = tokens[at]; token !== undefined; token = tokens[at]) {
      if (token.kind === '|' || token.kind === ')' || token.kind === 'rule') break;
      at++;
      if (token.kind === 'repeat') {
        const last = parts.pop();
        if (last === undefined) throw wrong('nothing to repeat', token.at);
        parts.push(e.repeat(last, token.min, token.max));
      } else parts.push(part(token));
    }
    return e.sequence(...parts);
  }

  function part(token: Token): number {
    switch (token.kind) {
      case 'name':
        return ruleOf(token.text);
      case 'literal':
        return e.literal(token.text);
      case 'set':
        return utf8(e, token.ranges);
      case '(': {
        const inner = alternatives();
        if (tokens[at++]?.kind !== ')') throw wrong('a parenthesis isn’t closed', token.at);
        return inner;
      }
      default:
        throw wrong('unexpected symbol', token.at);
    }
  }

  while (at < tokens.length) {
    const token = tokens[at++]!;
    if (token.kind !== 'rule') throw wrong('expected a rule, e.g. root ::= "yes" | "no"', token.at);
    const rule = ruleOf(token.text);
    if (defined.has(token.text)) throw wrong(`the rule ${token.text} is defined twice`, token.at);
    defined.add(token.text);
    e.define(rule, alternatives());
  }
  const unknown = ['root', ...rules.keys()].find((name) => !defined.has(name));
  if (unknown !== undefined) throw new FormError(`the grammar has no rule ${unknown}`);
  return ruleOf('root');
}

type Token = { readonly at: number } & (
  | { readonly kind: 'rule' | 'name' | 'literal'; readonly text: string }
  | { readonly kind: 'set'; readonly ranges: Ranges }
  | { readonly kind: 'repeat'; readonly min: number; readonly max: number }
  | { readonly kind: '|' | '(' | ')' }
);

function lex(grammar: string): readonly Token[] {
  if (grammar.length > most) throw new FormError(`the grammar has more than ${most} characters`);
  const tokens: Token[] = [];
  lexeme.lastIndex = 0;
  for (let at = 0; at < grammar.length; at = lexeme.lastIndex) {
    const match = lexeme.exec(grammar);
    if (match === null) throw wrong('unexpected symbol', at);
    const [, rule, name, literal, negated, set, symbol, min, comma, max] = match;
    if (rule !== undefined) tokens.push({ kind: 'rule', text: rule, at });
    else if (name !== undefined) tokens.push({ kind: 'name', text: name, at });
    else if (literal !== undefined)
      tokens.push({
        kind: 'literal',
        text: pointsIn(literal)
          .map(({ point }) => String.fromCodePoint(point))
          .join(''),
        at,
      });
    else if (set !== undefined) tokens.push({ kind: 'set', ranges: rangesIn(set, negated === '^'), at });
    else if (symbol === '.') tokens.push({ kind: 'set', ranges: allCharacters, at });
    else if (symbol === '*' || symbol === '+' || symbol === '?')
      tokens.push({
        kind: 'repeat',
        min: symbol === '+' ? 1 : 0,
        max: symbol === '?' ? 1 : Number.POSITIVE_INFINITY,
        at,
      });
    else if (symbol !== undefined) tokens.push({ kind: symbol as '|' | '(' | ')', at });
    else if (min !== undefined) {
      const open = comma === undefined ? Number(min) : Number.POSITIVE_INFINITY;
      tokens.push({ kind: 'repeat', min: Number(min), max: max ? Number(max) : open, at });
    }
  }
  return tokens;
}

/** Characters of a literal or a set, and whether each was escaped. */
function pointsIn(text: string): readonly { readonly point: number; readonly escaped: boolean }[] {
  return [...text.matchAll(item)].map(([, x, u, long, escaped, plain]) => {
    const code = x ?? u ?? long;
    if (code !== undefined) return { point: Math.min(0x10_ffff, Number.parseInt(code, 16)), escaped: true };
    return escaped === undefined
      ? { point: plain!.codePointAt(0)!, escaped: false }
      : { point: (short[escaped] ?? escaped).codePointAt(0)!, escaped: true };
  });
}

function rangesIn(text: string, negated: boolean): Ranges {
  const points = pointsIn(text);
  const ranges: [number, number][] = [];
  for (let i = 0; i < points.length; i++) {
    const [from, dash, to] = points.slice(i, i + 3);
    const isRange = dash?.point === 0x2d && !dash.escaped && to !== undefined;
    ranges.push([from!.point, isRange ? to.point : from!.point]);
    if (isRange) i += 2;
  }
  return negated ? complement(ranges) : ranges;
}

const wrong = (message: string, at: number) =>
  new FormError(`the grammar is invalid at character ${at + 1}: ${message}`);
