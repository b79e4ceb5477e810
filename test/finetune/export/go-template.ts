import type { ChatMessage } from '../../../src/models/language-model.js';

/**
 * Executes as much of Go's text/template as Modelfiles here use, with Ollama's variables: literal text, `range $i, $_ :=
 * .Messages`, `if`, `else if`, `end`, `not`, `and`, `eq`, `len (slice …)`, fields.
 */
export function executeGoTemplate(template: string, messages: readonly ChatMessage[]): string {
  const tokens = template
    .split(/(\{\{.*?\}\})/s)
    .map((part) => (part.startsWith('{{') ? { action: part.slice(2, -2).trim() } : { text: part }));
  const system = messages
    .filter(({ role }) => role === 'system')
    .map(({ content }) => content)
    .join('\n\n');
  const root: Scope = { System: system, Messages: messages };
  let at = 0;

  /** Runs or skips up to `else` or `end`, which it returns. */
  function block(scope: Scope, run: boolean): { text: string; stop: string } {
    let text = '';
    while (at < tokens.length) {
      const token = tokens[at++]!;
      if ('text' in token) {
        if (run) text += token.text;
        continue;
      }
      const { action } = token;
      if (action === 'end' || action.startsWith('else')) return { text, stop: action };
      if (action.startsWith('if ')) text += conditional(action.slice(3), scope, run);
      else if (action.startsWith('range $i, $_ := ')) text += loop(scope, run);
      else if (run) text += String(evaluate(action, scope));
    }
    return { text, stop: '' };
  }

  function conditional(condition: string, scope: Scope, run: boolean): string {
    const holds = run && Boolean(evaluate(condition, scope));
    const then = block(scope, holds);
    if (then.stop.startsWith('else if '))
      return then.text + conditional(then.stop.slice(8), scope, run && !holds);
    return then.stop === 'else' ? then.text + block(scope, run && !holds).text : then.text;
  }

  function loop(scope: Scope, run: boolean): string {
    const start = at;
    let text = '';
    messages.forEach((message, i) => {
      at = start;
      text += block({ ...scope, Role: message.role, Content: message.content, $i: i }, run).text;
    });
    return text;
  }

  function evaluate(expression: string, scope: Scope): unknown {
    const [head, ...rest] = words(expression);
    const values = rest.map((word) => evaluate(word, scope));
    switch (head) {
      case 'not':
        return !values[0];
      case 'and':
        return values.every(Boolean);
      case 'eq':
        return values[0] === values[1];
      case 'len':
        return (values[0] as unknown[]).length;
      case 'slice':
        return (values[0] as unknown[]).slice(values[1] as number);
    }
    if (head!.startsWith('(')) return evaluate(head!.slice(1, -1), scope);
    if (/^["\d]/.test(head!)) return JSON.parse(head!) as unknown;
    if (head === '$i') return scope.$i;
    const field = /^(\$?)\.(\w+)$/.exec(head!);
    if (field === null || (field[1] === '$' ? root : scope)[field[2]!] === undefined)
      throw new Error(`not understood: ${expression}`);
    return (field[1] === '$' ? root : scope)[field[2]!];
  }

  return block(root, true).text;
}

type Scope = Readonly<Record<string, unknown>>;

/** Words, and what stands in parentheses as one. */
function words(expression: string): string[] {
  const found: string[] = [];
  let depth = 0;
  let word = '';
  for (const character of `${expression} `) {
    if (character === ' ' && depth === 0) {
      if (word !== '') found.push(word);
      word = '';
      continue;
    }
    depth += character === '(' ? 1 : character === ')' ? -1 : 0;
    word += character;
  }
  return found;
}
