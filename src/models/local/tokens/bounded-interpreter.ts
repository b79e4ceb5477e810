/** Runs a chat template, which comes from a model's directory, within bounds of time and memory. */
import { type Environment, Interpreter } from '@huggingface/jinja';

/** The parts of the library's nodes and values that are looked at: its own types can't be resolved. */
interface Node {
  readonly type: string;
  /** What a loop walks through; its left side where a condition stands beside it. */
  readonly iterable?: Node;
  readonly lhs?: Node;
}
interface Value {
  readonly value: unknown;
}

/** Numbers in one range. */
export const longestRange = 100_000;

/**
 * Work that rendering may take, counted in characters made; steps and list items count for more. Published templates stay
 * below a tenth of it with prompts of a million characters; all of it takes seconds.
 */
const mostWork = 50_000_000;
const workOfStep = 200;

/**
 * An interpreter that counts its work, so that the bound doesn't depend on the machine.
 * @throws Error from `run` when the template takes more
 */
export function boundedInterpreter(environment: Environment): Interpreter {
  const interpreter = new Interpreter(environment);
  const evaluate = interpreter.evaluate.bind(interpreter) as (node: Node, scope: Environment) => Value;
  const walked = new WeakSet<Node>();
  let work = 0;
  const spend = (more: number) => {
    work += more;
    if (work > mostWork) throw new Error('it takes more steps than any chat template needs');
  };
  interpreter.evaluate = (node: Node | undefined, scope: Environment) => {
    spend(workOfStep);
    if (node === undefined) return evaluate(node as never, scope);
    if (node.iterable !== undefined) walked.add(node.iterable.lhs ?? node.iterable);
    const value = evaluate(node, scope);
    // What is only named costs nothing: it is neither made nor walked through.
    const isNamed = node.type === 'Identifier' || node.type === 'MemberExpression';
    if (!isNamed || walked.has(node)) spend(sizeOf(value));
    return value;
  };
  return interpreter;
}

function sizeOf({ value }: Value): number {
  if (typeof value === 'string') return value.length;
  if (Array.isArray(value)) return workOfStep * value.length;
  return value instanceof Map ? workOfStep * value.size : 0;
}
