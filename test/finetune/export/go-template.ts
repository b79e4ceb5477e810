import type { ChatMessage } from '../../../src/models/language-model.js';

/**
 * Executes as much of Go's text/template as Modelfiles here use, with Ollama's variables: literal text, `range
 * .Messages`, `if`, `else if`, `end`, `not`, `eq`, fields.
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
      else if (action === 'range .Messages') text += loop(scope, run);
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
    for (const { role, content } of messages) {
      at = start;
      text += block({ ...scope, Role: role, Content: content }, run).text;
    }
    return text;
  }

  function evaluate(expression: string, scope: Scope): unknown {
    const [head, ...rest] = expression.split(' ');
    const values = rest.map((word) => evaluate(word, scope));
    switch (head) {
      case 'not':
        return !values[0];
      case 'eq':
        return values[0] === values[1];
    }
    if (/^["\d]/.test(head!)) return JSON.parse(head!) as unknown;
    const value = scope[/^\.(\w+)$/.exec(head!)?.[1] ?? ''];
    if (value === undefined) throw new Error(`not understood: ${expression}`);
    return value;
  }

  return block(root, true).text;
}

type Scope = Readonly<Record<string, unknown>>;
