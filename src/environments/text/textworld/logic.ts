/**
 * The rules of a TextWorld game, parsed from `KB.logic` in its file. Games differ in their rules, so no command is
 * built in.
 */
import { UserError } from '../../../base/errors.js';

interface LogicToken {
  readonly kind: 'name' | 'mark' | 'text';
  readonly text: string;
  /** 1-based line within the text. */
  readonly line: number;
}

const tokenPattern =
  /(?<space>\s+|#[^\n]*)|"""(?<long>[\s\S]*?)"""|"(?<text>[^"\n]*)"|(?<name>\w[\w/]*'*)|(?<mark>::|->|[{}(),;:&$!=])/y;

/** @throws UserError for a character that isn't part of the language */
function tokenizeLogic(source: string): LogicToken[] {
  const tokens: LogicToken[] = [];
  let line = 1;
  tokenPattern.lastIndex = 0;
  while (tokenPattern.lastIndex < source.length) {
    const from = tokenPattern.lastIndex;
    const groups = tokenPattern.exec(source)?.groups;
    if (groups === undefined)
      throw new UserError({
        field: 'KB.logic',
        line,
        value: source.slice(from, from + 20),
        message: 'this is not part of the rule language',
      });
    const { long, text, name, mark } = groups;
    const content = long ?? text;
    if (content !== undefined) tokens.push({ kind: 'text', text: content, line });
    else if (name !== undefined) tokens.push({ kind: 'name', text: name, line });
    else if (mark !== undefined) tokens.push({ kind: 'mark', text: mark, line });
    line += source.slice(from, tokenPattern.lastIndex).split('\n').length - 1;
  }
  return tokens;
}

/** A variable or constant in a rule; equal names refer to the same object. */
interface Placeholder {
  readonly name: string;
  readonly type: string;
}

export interface Pattern {
  readonly predicate: string;
  readonly placeholders: readonly Placeholder[];
}

export interface LogicRule {
  readonly name: string;
  /** In the order of the file, with aliases expanded. */
  readonly preconditions: readonly Pattern[];
  /** Includes the preconditions that are kept. */
  readonly postconditions: readonly Pattern[];
  /** Undefined for a rule that no command triggers. */
  readonly texts: RuleTexts | undefined;
}

interface RuleTexts {
  /** The player's command, such as `insert {o} into {c}`. */
  readonly command: string;
  /** The compiled game's name for the action, such as `inserting the {o} into the {c}`. */
  readonly event: string;
}

export interface Logic {
  /** The direct parents of each type. */
  readonly parents: ReadonlyMap<string, readonly string[]>;
  /** Sorted by name, in the order of code units. */
  readonly rules: readonly LogicRule[];
  /** Maps each reversible rule to the rule that undoes it, and vice versa. */
  readonly reverseRules: ReadonlyMap<string, string>;
}

/** A rule as written; `$` marks facts that are kept. */
interface ParsedRule {
  readonly name: string;
  readonly before: readonly { readonly isKept: boolean; readonly pattern: Pattern }[];
  readonly after: readonly Pattern[];
}

interface Alias {
  readonly parameters: readonly Placeholder[];
  readonly patterns: readonly Pattern[];
}

/** Aliases may refer to aliases; deeper nesting than this counts as a cycle. */
const maxAliasDepth = 16;

/** @throws UserError for a syntax error, or for a predicate that is defined in terms of itself */
export function parseLogic(text: string): Logic {
  const parser = new LogicParser(tokenizeLogic(text));
  parser.parse();
  const rules = parser.rules.map((rule) => expandRule(rule, parser.aliases, parser.commands.get(rule.name)));
  return {
    parents: parser.parents,
    rules: rules.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    reverseRules: parser.reverseRules,
  };
}

class LogicParser {
  readonly parents = new Map<string, readonly string[]>();
  readonly rules: ParsedRule[] = [];
  readonly aliases = new Map<string, Alias>();
  readonly commands = new Map<string, RuleTexts>();
  readonly reverseRules = new Map<string, string>();
  readonly #tokens: readonly LogicToken[];
  #position = 0;

  constructor(tokens: readonly LogicToken[]) {
    this.#tokens = tokens;
  }

  parse(): void {
    while (this.#position < this.#tokens.length) {
      this.#expect('type');
      const type = this.#name();
      const parents = this.#accept(':') ? this.#list(() => this.#name()) : [];
      this.parents.set(type, parents);
      this.#parts((part) => this.#part(part));
    }
  }

  #part(part: string): void {
    if (part === 'predicates') this.#entries(() => this.#predicate());
    else if (part === 'rules') this.#entries(() => this.rules.push(this.#rule()));
    else if (part === 'reverse_rules') this.#entries(() => this.#reverseRule());
    else if (part === 'constraints') this.#entries(() => this.#rule());
    else if (part === 'inform7') this.#parts((inner) => this.#inform7Part(inner));
    else this.#rejectName('predicates, rules, reverse_rules, constraints or inform7');
  }

  #inform7Part(part: string): void {
    if (part === 'commands') this.#entries(() => this.#command());
    else if (part === 'type' || part === 'predicates') this.#skipBlock();
    else if (part === 'code') {
      this.#expect('::');
      this.#text();
      this.#expect(';');
    } else this.#rejectName('type, predicates, commands or code');
  }

  /** Reads `in(o, c)`, or an alias: `south_of(r, r') = north_of(r', r)`. */
  #predicate(): void {
    const { predicate, placeholders } = this.#pattern();
    if (!this.#accept('=')) return;
    this.aliases.set(signature(predicate, placeholders), {
      parameters: placeholders,
      patterns: this.#patterns(),
    });
  }

  #rule(): ParsedRule {
    const name = this.#name();
    this.#expect('::');
    const before = this.#list(() => ({ isKept: this.#accept('$'), pattern: this.#pattern() }), '&');
    this.#expect('->');
    return { name, before, after: this.#patterns() };
  }

  #reverseRule(): void {
    const rule = this.#name();
    this.#expect('::');
    const inverse = this.#name();
    this.reverseRules.set(rule, inverse).set(inverse, rule);
  }

  #command(): void {
    const rule = this.#name();
    this.#expect('::');
    const command = this.#text();
    this.#expect('::');
    this.commands.set(rule, { command, event: this.#text() });
  }

  #patterns(): Pattern[] {
    return this.#peek(';') ? [] : this.#list(() => this.#pattern(), '&');
  }

  #pattern(): Pattern {
    const negated = this.#accept('!');
    const name = this.#name();
    this.#expect('(');
    const placeholders = this.#peek(')') ? [] : this.#list(() => this.#placeholder());
    this.#expect(')');
    return { predicate: negated ? `not_${name}` : name, placeholders };
  }

  #placeholder(): Placeholder {
    const name = this.#name();
    return { name, type: this.#accept(':') ? this.#name() : name.replace(/(?<!')'+$/, '') };
  }

  #list<T>(item: () => T, separator = ','): T[] {
    const items = [item()];
    while (this.#accept(separator)) items.push(item());
    return items;
  }

  /** Reads `{ … }`, whose parts start with a name. */
  #parts(read: (name: string) => void): void {
    this.#expect('{');
    while (!this.#accept('}')) read(this.#name());
  }

  /** Reads `{ … }`, whose entries end in `;`. */
  #entries(read: () => void): void {
    this.#expect('{');
    while (!this.#accept('}')) {
      read();
      this.#expect(';');
    }
  }

  #skipBlock(): void {
    this.#expect('{');
    for (let depth = 1; depth > 0; this.#position++) {
      const token = this.#tokens[this.#position] ?? this.#reject('`}`');
      if (token.kind === 'mark' && token.text === '{') depth++;
      if (token.kind === 'mark' && token.text === '}') depth--;
    }
  }

  #peek(mark: string): boolean {
    const token = this.#tokens[this.#position];
    return token !== undefined && token.kind !== 'text' && token.text === mark;
  }

  #accept(mark: string): boolean {
    if (!this.#peek(mark)) return false;
    this.#position++;
    return true;
  }

  #expect(mark: string): void {
    if (!this.#accept(mark)) this.#reject(`\`${mark}\``);
  }

  #name(): string {
    return this.#take('name', 'a name');
  }

  #text(): string {
    return this.#take('text', 'quoted text');
  }

  #take(kind: LogicToken['kind'], expected: string): string {
    const token = this.#tokens[this.#position];
    if (token?.kind !== kind) return this.#reject(expected);
    this.#position++;
    return token.text;
  }

  #rejectName(expected: string): never {
    this.#position--;
    return this.#reject(expected);
  }

  #reject(expected: string): never {
    const token = this.#tokens[this.#position];
    throw new UserError({
      field: 'KB.logic',
      ...(token && { line: token.line }),
      value: token?.text ?? 'the end',
      message: `expected ${expected} in the game's rules`,
    });
  }
}

const signature = (predicate: string, { length }: { readonly length: number }) => `${predicate}/${length}`;

function expandRule(
  { name, before, after }: ParsedRule,
  aliases: ReadonlyMap<string, Alias>,
  texts: RuleTexts | undefined,
): LogicRule {
  const expand = (pattern: Pattern) => withoutAliases(pattern, aliases, 0);
  const withTypes = typeAssigner([...before.map(({ pattern }) => pattern), ...after]);
  const preconditions = before.flatMap(({ pattern }) => expand(withTypes(pattern)));
  const keptFacts = before.filter((item) => item.isKept).flatMap(({ pattern }) => expand(withTypes(pattern)));
  const gainedFacts = after.flatMap((pattern) => expand(withTypes(pattern)));
  return { name, preconditions, postconditions: [...keptFacts, ...gainedFacts], texts };
}

/** Returns a function that gives each placeholder the type declared for it anywhere in the rule. */
function typeAssigner(patterns: readonly Pattern[]): (pattern: Pattern) => Pattern {
  const types = new Map<string, string>();
  for (const { name, type } of patterns.flatMap(({ placeholders }) => placeholders))
    if (!types.has(name) || type !== name.replace(/(?<!')'+$/, '')) types.set(name, type);
  return ({ predicate, placeholders }) => ({
    predicate,
    placeholders: placeholders.map(({ name }) => ({ name, type: types.get(name)! })),
  });
}

function withoutAliases(pattern: Pattern, aliases: ReadonlyMap<string, Alias>, depth: number): Pattern[] {
  const alias = aliases.get(signature(pattern.predicate, pattern.placeholders));
  if (alias === undefined) return [pattern];
  if (depth === maxAliasDepth)
    throw new UserError({
      field: 'KB.logic',
      value: pattern.predicate,
      message: 'this predicate is defined in terms of itself',
    });
  const bindings = new Map(alias.parameters.map(({ name }, i) => [name, pattern.placeholders[i]!]));
  return alias.patterns.flatMap(({ predicate, placeholders }) =>
    withoutAliases(
      { predicate, placeholders: placeholders.map((one) => bindings.get(one.name) ?? one) },
      aliases,
      depth + 1,
    ),
  );
}
