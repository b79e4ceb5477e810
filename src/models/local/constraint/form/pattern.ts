/** Translates ECMAScript regular expressions, including lookaheads, into expressions over bytes. */
import { type AST, RegExpParser } from '@eslint-community/regexpp';
import { messageOf } from '../../../../base/errors.js';
import { allCharacters, complement, type Ranges, union } from './characters.js';
import { FormError } from './expression-table.js';
import type { Expressions } from './expressions.js';

type Character = (ranges: Ranges) => number;

/** An expression for texts that a pattern matches as a whole; `character` encodes a character set. @throws FormError */
export function wholePattern(e: Expressions, pattern: string, character: Character): number {
  return new Translator(e, pattern, character).alternatives(parse(pattern).alternatives, e.epsilon, true);
}

/** An expression for texts in which a pattern matches anywhere. @throws FormError */
export function anywherePattern(e: Expressions, pattern: string, character: Character): number {
  const { alternatives } = parse(pattern);
  const translator = new Translator(e, pattern, character);
  const rest = e.repeat(character(allCharacters));
  return e.either(
    translator.alternatives(alternatives, rest, true),
    e.sequence(character(allCharacters), rest, translator.alternatives(alternatives, rest, false)),
  );
}

function parse(pattern: string): AST.Pattern {
  const parser = new RegExpParser({ ecmaVersion: 2025 });
  try {
    return parser.parsePattern(pattern, undefined, undefined, { unicode: true });
  } catch {
    // Many patterns escape characters that needn't be escaped, which is an error in Unicode mode.
  }
  try {
    return parser.parsePattern(pattern);
  } catch (error) {
    throw new FormError(`not an ECMAScript pattern: ${messageOf(error).slice(0, 200)}`);
  }
}

class Translator {
  readonly #e: Expressions;
  readonly #pattern: string;
  readonly #character: Character;

  constructor(e: Expressions, pattern: string, character: Character) {
    this.#e = e;
    this.#pattern = pattern;
    this.#character = character;
  }

  /** @param rest the expression for the rest of the text @param atStart whether the text starts here */
  alternatives(given: readonly AST.Alternative[], rest: number, atStart: boolean): number {
    return this.#e.either(...given.map(({ elements }) => this.#elements(elements, rest, atStart)));
  }

  #elements(elements: readonly AST.Element[], rest: number, atStart: boolean): number {
    const firstWide = elements.findIndex(({ type }) => type !== 'Assertion');
    return elements.reduceRight(
      (after, element, i) => this.#element(element, after, atStart && (firstWide < 0 || i <= firstWide)),
      rest,
    );
  }

  #element(element: AST.Element, rest: number, atStart: boolean): number {
    const e = this.#e;
    switch (element.type) {
      case 'Assertion':
        return this.#assertion(element, rest, atStart);
      case 'Group':
        if (element.modifiers) throw this.#unsupported('group modifiers');
        return this.alternatives(element.alternatives, rest, atStart);
      case 'CapturingGroup':
        return this.alternatives(element.alternatives, rest, atStart);
      case 'Quantifier': {
        const { element: part, max, min } = element;
        if (!hasAssertion(part))
          return e.concat(e.repeat(this.#element(part, e.epsilon, false), min, max), rest);
        if (min > 1 || max > 1) throw this.#unsupported('repeated assertions');
        const once = this.#element(part, rest, atStart);
        return min === 1 ? once : e.either(rest, once);
      }
      case 'Character':
      case 'CharacterClass':
      case 'CharacterSet':
        return e.concat(this.#character(this.#rangesOf(element)), rest);
      default:
        throw this.#unsupported('backreferences');
    }
  }

  #assertion(assertion: AST.Assertion, rest: number, atStart: boolean): number {
    const e = this.#e;
    switch (assertion.kind) {
      case 'start':
        return atStart ? rest : e.nothing;
      case 'end':
        return e.nullable(rest) ? e.epsilon : e.nothing;
      case 'lookahead': {
        const ahead = this.alternatives(assertion.alternatives, e.anything, atStart);
        return e.both(rest, assertion.negate ? e.not(ahead) : ahead);
      }
      default:
        throw this.#unsupported(assertion.kind === 'word' ? 'word boundaries' : 'lookbehinds');
    }
  }

  #rangesOf(
    element: AST.Character | AST.CharacterClass | AST.CharacterSet | AST.CharacterClassElement,
  ): Ranges {
    switch (element.type) {
      case 'Character':
        return [[element.value, element.value]];
      case 'CharacterClassRange':
        return [[element.min.value, element.max.value]];
      case 'CharacterClass': {
        const inner = union(
          element.elements.flatMap((one) => this.#rangesOf(one as AST.CharacterClassElement)),
        );
        return element.negate ? complement(inner) : inner;
      }
      case 'CharacterSet': {
        if (element.kind === 'any') return complement(lineEnds);
        const ranges = element.kind === 'property' ? propertyRanges(element.raw) : escaped[element.kind];
        return element.kind !== 'property' && element.negate ? complement(ranges) : ranges;
      }
      default:
        throw this.#unsupported('sets of strings');
    }
  }

  #unsupported(what: string): FormError {
    return new FormError(
      `${what} in the pattern ${JSON.stringify(this.#pattern.slice(0, 80))} are not supported`,
    );
  }
}

function hasAssertion(element: AST.Element): boolean {
  if (element.type === 'Assertion') return true;
  if (element.type === 'Quantifier') return hasAssertion(element.element);
  return (
    (element.type === 'Group' || element.type === 'CapturingGroup') &&
    element.alternatives.some(({ elements }) => elements.some(hasAssertion))
  );
}

const points = (...given: readonly number[]): Ranges => given.map((point) => [point, point] as const);
const lineEnds = points(0x0a, 0x0d, 0x2028, 0x2029);
const escaped: Readonly<Record<'digit' | 'space' | 'word', Ranges>> = {
  digit: [[0x30, 0x39]],
  word: [
    [0x30, 0x39],
    [0x41, 0x5a],
    [0x5f, 0x5f],
    [0x61, 0x7a],
  ],
  space: union([
    [0x09, 0x0d],
    [0x2000, 0x200a],
    ...points(0x20, 0xa0, 0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000, 0xfeff),
  ]),
};

const properties = new Map<string, Ranges>();

/** The characters with a Unicode property such as `\p{L}`, found by testing every code point. */
function propertyRanges(raw: string): Ranges {
  const known = properties.get(raw);
  if (known !== undefined) return known;
  const isIn = new RegExp(`^${raw}$`, 'u');
  const found: [number, number][] = [];
  for (const [low, high] of allCharacters)
    for (let point = low; point <= high; point++) {
      if (!isIn.test(String.fromCodePoint(point))) continue;
      const last = found.at(-1);
      if (last?.[1] === point - 1) last[1] = point;
      else found.push([point, point]);
    }
  properties.set(raw, found);
  return found;
}
