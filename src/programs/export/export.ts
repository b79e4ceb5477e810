/** Exports programs as files that run without this package. */
import { observationNames } from '../../environments/catalogue/observation-names.js';
import type { EnvironmentSpec } from '../../environments/environment.js';
import { isVector, seededRandom } from '../prelude.js';
import { pythonLines } from './python.js';
import { pythonHelpers } from './python-expressions.js';

export const programLanguages = ['js', 'python'] as const;
export type ProgramLanguage = (typeof programLanguages)[number];

/** Lines that enclose the source in an exported JavaScript module. */
const [begin, end] = ['// The program:', '// End of the program.'];

/**
 * Code of a module with `act(observation, memory)` and `policy()`, which returns a policy for one episode.
 * @param comment lines of the comment at the top
 * @throws UserError if the program can't be translated to Python
 */
export function exportedProgram(
  language: ProgramLanguage,
  source: string,
  environment: EnvironmentSpec,
  comment: readonly string[],
): string {
  const lines = comment.map((line) => line.replaceAll(/[\r\n\u2028\u2029]+/g, ' '));
  return language === 'js' ? javaScript(source, environment, lines) : python(source, environment, lines);
}

/** Extracts the source from an exported module, or removes `export` from another file; line numbers don't change. */
export function programIn(text: string): string {
  const [first, last] = [text.indexOf(`\n${begin}\n`), text.lastIndexOf(`\n${end}\n`)];
  if (first >= 0 && last > first) {
    const start = first + begin.length + 2;
    return '\n'.repeat(text.slice(0, start).split('\n').length - 1) + text.slice(start, last);
  }
  return text
    .replaceAll(/^([ \t]*)export\s+(?:default\s+)?(?=(?:async\s+)?function\b|const\b|let\b|var\b)/gm, '$1')
    .replaceAll(/^[ \t]*export\s*(?:\{[^}]*\}|default\s+act)[ \t]*;?[ \t]*$/gm, (list) =>
      list.replaceAll(/[^\n]/g, ''),
    );
}

function javaScript(source: string, environment: EnvironmentSpec, comment: readonly string[]): string {
  const { actionSpace } = environment;
  const names = JSON.stringify(observationNames(environment).map((name) => name ?? null));
  const action = isVector(actionSpace)
    ? "typeof action === 'number' ? [action] : Array.from(action)"
    : actionSpace.kind === 'text'
      ? 'action'
      : 'action + 0';
  const isRandom = /\brandom\b/.test(source);
  return `${comment.map((line) => `// ${line}\n`).join('')}
const program = (${isRandom ? 'Math' : ''}) => {
${begin}
${source}
${end}
return { act, constants: typeof constants === 'undefined' ? {} : constants };
};

const names = ${names};
const named = (observation) => {
  if (typeof observation !== 'object') return observation;
  const vector = Array.from(observation);
  names.forEach((name, i) => name && (vector[name] = vector[i]));
  return vector;
};
const usable = (action) => ${action};
${isRandom ? seeded : ''}
function start(${isRandom ? 'seed' : ''}) {
  const { act, constants } = program(${isRandom ? 'seeded(seed)' : ''});
  const values = Object.entries(constants).map(([name, x]) => [name, typeof x?.value === 'number' ? x.value : x]);
  const fixed = Object.freeze(Object.fromEntries(values));
  return (observation, memory = {}) => usable(act(named(observation), memory, fixed));
}

/** Chooses an action. Pass the same \`memory\` object in all steps of an episode. */
export const act = start(${isRandom ? '0' : ''});

/** Starts an episode: returns a function from observations to actions with a memory of its own. */
export function policy(${isRandom ? 'seed = 0' : ''}) {
  const act = start(${isRandom ? 'seed' : ''});
  const memory = {};
  return (observation) => act(observation, memory);
}
`;
}

/** Code that creates a `Math` object with the random numbers of the sandbox. */
const seeded = `const seeded = (from) => {${seededRandom}
seed(from, Math.floor(from / 4294967296));
return Object.create(Math, { random: { value: random } });
};
`;

function python(source: string, environment: EnvironmentSpec, comment: readonly string[]): string {
  const { actionSpace, observationSpace } = environment;
  const names = observationNames(environment).map((name) => (name === undefined ? 'None' : `"${name}"`));
  const observed = isVector(observationSpace)
    ? `Observation(observation, [${names.join(', ')}])`
    : observationSpace.kind === 'text'
      ? 'observation'
      : 'float(observation)';
  const action = {
    box: 'action if isinstance(action, list) else [action]',
    tuple: '[int(x) for x in action]',
    discrete: 'int(action)',
    text: 'action',
  }[actionSpace.kind];
  const program = pythonLines(source);
  const isDeclared = program.some((line) => /^(def )?constants\b/.test(line));
  const code = `def program():
${program.map((line) => (line === '' ? '' : `    ${line}`)).join('\n')}
    return act, ${isDeclared ? 'constants' : '{}'}


def start():
    choose, declared = program()
    constants = {k: x["value"] if isinstance(x, dict) and "value" in x else x for k, x in declared.items()}

    def act(observation, memory):
        action = choose(${observed}, memory, constants)
        return ${action}

    return act


# Chooses an action. Pass the same dict \`memory\` in all steps of an episode.
act = start()


def policy():
    """Starts an episode: returns a function from observations to actions with a memory of its own."""
    own, memory = start(), {}
    return lambda observation: own(observation, memory)
`;
  return `${comment.map((line) => `# ${line}\n`).join('')}\n${pythonHelpers()}\n\n${code}`;
}
