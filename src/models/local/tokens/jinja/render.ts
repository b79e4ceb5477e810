/** Renders chat templates exactly as Transformers does, or rejects them; time and memory are bounded. */
import { filterOf, itemOf, loopState, testOf } from './functions.js';
import type { Name, Node } from './syntax.js';
import {
  type Arguments,
  bindArguments,
  Callable,
  calculate,
  isTruthy,
  itemsOf,
  Namespace,
  requireInteger,
  slice,
  textOf,
  typeName,
  unsupported,
  type Value,
} from './values.js';

/** Maximum work per rendering: a character counts as 1, and a step or list item as `workPerStep`. */
const maxWork = 50_000_000;
const workPerStep = 200;

class Scope {
  constructor(
    readonly parent?: Scope,
    readonly variables = new Map<string, Value>(),
  ) {}

  /** Returns the innermost scope that defines a name. */
  ownerOf(name: string): Scope | undefined {
    return this.variables.has(name) ? this : this.parent?.ownerOf(name);
  }
}

class LoopExit {
  constructor(readonly kind: 'Break' | 'Continue') {}
}

/** Mutable, so that text written before a `break` or `continue` is kept. */
interface Output {
  text: string;
}

/** Names that Jinja predefines; they are unsupported unless the template defines them. */
const reservedNames = new Set('caller cycler dict joiner kwargs lipsum self super varargs'.split(' '));

/** @throws UnsupportedError for an unsupported construct; Error if the template fails */
export function renderNode(template: Node, variables: ReadonlyMap<string, Value>): string {
  let work = 0;
  const spend = (amount: number) => {
    work += amount;
    if (work > maxWork) throw new Error('it takes more steps than any chat template should need');
  };
  const charge = <T extends Value>(value: T): T => {
    if (typeof value === 'string') spend(value.length);
    else if (Array.isArray(value)) spend(workPerStep * value.length);
    return value;
  };

  function renderBlock(nodes: readonly Node[], scope: Scope): string {
    const output: Output = { text: '' };
    run(nodes, scope, output);
    return output.text;
  }

  function run(nodes: readonly Node[], scope: Scope, output: Output): void {
    for (const node of nodes) {
      spend(workPerStep);
      switch (node.type) {
        case 'Comment':
          break;
        case 'Program':
          run(node.body, scope, output);
          break;
        case 'If':
          run(isTruthy(evaluate(node.test, scope)) ? node.body : node.alternate, scope, output);
          break;
        case 'For':
          runLoop(node, scope, output);
          break;
        case 'Set': {
          const value =
            node.value === null ? renderBlock(node.body, new Scope(scope)) : evaluate(node.value, scope);
          assign(node.assignee, value, scope);
          break;
        }
        case 'Macro':
          scope.variables.set(node.name.value, createMacro(node, scope));
          break;
        case 'CallStatement': {
          const { callee } = node.call;
          if (callee.type !== 'Identifier' || callee.value !== 'generation') unsupported('a `call` block');
          run(node.body, new Scope(scope), output);
          break;
        }
        case 'Break':
        case 'Continue':
          throw new LoopExit(node.type);
        default:
          output.text += charge(textOf(evaluate(node, scope)));
      }
    }
  }

  function runLoop(node: Extract<Node, { type: 'For' }>, scope: Scope, output: Output): void {
    const { iterable, loopvar } = node;
    const filter = iterable.type === 'SelectExpression' ? iterable : undefined;
    const all = charge(itemsOf(evaluate(filter?.lhs ?? iterable, scope)));
    const scopeOf = (item: Value) => {
      const inner = new Scope(scope);
      assign(loopvar, item, inner);
      return inner;
    };
    const items = filter ? all.filter((item) => isTruthy(evaluate(filter.test, scopeOf(item)))) : all;
    if (items.length === 0) run(node.defaultBlock, new Scope(scope), output);
    for (const [i, item] of items.entries()) {
      const inner = scopeOf(item);
      inner.variables.set('loop', loopState(items, i));
      try {
        run(node.body, inner, output);
      } catch (error) {
        if (!(error instanceof LoopExit)) throw error;
        if (error.kind === 'Break') return;
      }
    }
  }

  function assign(target: Node, value: Value, scope: Scope): void {
    if (target.type === 'Identifier') scope.variables.set(target.value, value);
    else if (target.type === 'TupleLiteral') {
      const items = itemsOf(value);
      if (items.length !== target.value.length)
        throw new Error(`can't unpack ${items.length} values into ${target.value.length} variables`);
      for (const [i, part] of target.value.entries()) assign(part, items[i], scope);
    } else if (
      target.type === 'MemberExpression' &&
      target.property.type === 'Identifier' &&
      !target.computed
    ) {
      const object = evaluate(target.object, scope);
      const name = target.property.value;
      if (!(object instanceof Namespace) || object.isPartial || name.startsWith('_'))
        unsupported(`an assignment to \`.${name}\` of ${typeName(object)}`);
      object.attributes.set(name, value);
    } else unsupported('a `set` whose target is neither a variable nor an attribute');
  }

  function createMacro(node: Extract<Node, { type: 'Macro' }>, scope: Scope): Callable {
    const parameters = node.args.map((arg) =>
      arg.type === 'KeywordArgumentExpression'
        ? { name: arg.key.value, fallback: arg.value }
        : { name: (arg as Name).value, fallback: undefined },
    );
    const names = parameters.map(({ name }) => name);
    return new Callable((args) => {
      const macroScope = new Scope(scope);
      const values = bindArguments(args, names);
      for (const [i, { name, fallback }] of parameters.entries()) {
        const isGiven = i < args.positional.length || args.named.has(name);
        macroScope.variables.set(name, isGiven || !fallback ? values[i] : evaluate(fallback, macroScope));
      }
      return renderBlock(node.body, macroScope);
    });
  }

  function evaluate(node: Node, scope: Scope): Value {
    spend(workPerStep);
    switch (node.type) {
      case 'StringLiteral':
        return node.value;
      case 'IntegerLiteral':
        return requireInteger(node.value);
      case 'ArrayLiteral':
      case 'TupleLiteral':
        return node.value.map((item) => evaluate(item, scope));
      case 'ObjectLiteral':
        return new Map(
          [...node.value].map(([key, value]) => {
            const name = evaluate(key, scope);
            if (typeof name !== 'string' && typeof name !== 'number')
              return unsupported(`a key of type ${typeName(name)}`);
            return [name, evaluate(value, scope)];
          }),
        );
      case 'Identifier': {
        const owner = scope.ownerOf(node.value);
        if (owner === undefined && reservedNames.has(node.value)) unsupported(`\`${node.value}\``);
        return owner?.variables.get(node.value);
      }
      case 'MemberExpression':
        return evaluateMember(node, scope);
      case 'CallExpression': {
        const callee = evaluate(node.callee, scope);
        if (callee instanceof Callable) return charge(callee.call(evaluateArguments(node.args, scope)));
        throw new Error(`a value of type ${typeName(callee)} can't be called`);
      }
      case 'FilterExpression': {
        const operand = evaluate(node.operand, scope);
        const { callee, args } =
          node.filter.type === 'CallExpression' ? node.filter : { callee: node.filter, args: [] };
        if (callee.type !== 'Identifier') return unsupported(`${callee.type} as a filter`);
        return charge(filterOf(callee.value)(operand, evaluateArguments(args, scope)));
      }
      case 'TestExpression':
        return testOf(node.test.value)(evaluate(node.operand, scope), undefined) !== node.negate;
      case 'SelectExpression':
        return isTruthy(evaluate(node.test, scope)) ? evaluate(node.lhs, scope) : undefined;
      case 'Ternary':
        return evaluate(isTruthy(evaluate(node.condition, scope)) ? node.trueExpr : node.falseExpr, scope);
      case 'UnaryExpression': {
        const argument = evaluate(node.argument, scope);
        return node.operator.value === 'not'
          ? !isTruthy(argument)
          : calculate(node.operator.value, 0, argument);
      }
      case 'BinaryExpression':
        return charge(evaluateBinary(node, scope));
      default:
        if (node.type === 'FloatLiteral') return unsupported('a number with a fraction');
        return unsupported(node.type === 'FilterStatement' ? 'a `filter` block' : node.type);
    }
  }

  function evaluateMember(node: Extract<Node, { type: 'MemberExpression' }>, scope: Scope): Value {
    const object = evaluate(node.object, scope);
    const { property } = node;
    if (property.type === 'SliceExpression') {
      const bounds = [property.start, property.stop, property.step].map(
        (bound) => bound && evaluate(bound, scope),
      );
      if (typeof object === 'string') return charge(slice(Array.from(object), bounds).join(''));
      return Array.isArray(object)
        ? charge(slice(object, bounds))
        : unsupported(`a slice of ${typeName(object)}`);
    }
    if (node.computed) return itemOf(object, evaluate(property, scope), false);
    return itemOf(object, (property as Name | { value: number }).value, true);
  }

  function evaluateArguments(args: readonly Node[], scope: Scope): Arguments {
    const positional: Value[] = [];
    const named = new Map<string, Value>();
    for (const argument of args)
      if (argument.type === 'KeywordArgumentExpression')
        named.set(argument.key.value, evaluate(argument.value, scope));
      else positional.push(evaluate(argument, scope));
    return { positional, named };
  }

  function evaluateBinary(node: Extract<Node, { type: 'BinaryExpression' }>, scope: Scope): Value {
    const operator = node.operator.value;
    const left = evaluate(node.left, scope);
    if (operator === 'and') return isTruthy(left) ? evaluate(node.right, scope) : left;
    if (operator === 'or') return isTruthy(left) ? left : evaluate(node.right, scope);
    // In Jinja, `~` binds more tightly than + and -, but the library gives them equal precedence.
    if (operator === '~' && typeof left !== 'string' && node.left.type === 'BinaryExpression')
      unsupported('`~` next to + or -');
    return calculate(operator, left, evaluate(node.right, scope));
  }

  return renderBlock([template], new Scope(undefined, new Map(variables)));
}
