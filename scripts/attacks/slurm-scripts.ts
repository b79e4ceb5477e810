/** Attacks on Slurm scripts and Modelfiles, with texts that could break out of a line. */
import { adapterModelfile } from '../../finetune/export/ollama/modelfile.js';
import { slurmSchema } from '../../src/config/many-runs.js';
import type { RandomGenerator } from '../../src/random/generator.js';
import { jobScript } from '../../src/studies/slurm.js';
import { type AttackKind, outcome, shorten } from './attack.js';

const injected = ['\n', '\r', '\r\n', '\u0085', '\u2028', '\u2029', '\v', '\f', '\u0000', '\u001b'];
const lines = [
  'touch pwned',
  '#SBATCH --wrap=id',
  'SYSTEM """evil"""',
  'ADAPTER /etc/passwd',
  '$(touch pwned)',
  '`id`',
  '"; id; "',
  "'; id; '",
  '{{7*7}}',
];

/** Draws a name that could add a line or end a quotation; sometimes a harmless one. */
function scriptText(random: RandomGenerator): { readonly text: string; readonly breaks: boolean } {
  const separator = random.choice([...injected, ' ', '"', "'", '\\', '%j', ';', '&&', '']);
  const text = `run${separator}${random.choice(lines)}`;
  return { text, breaks: injected.includes(separator) };
}

export const slurm: AttackKind = {
  name: 'slurm',
  percent: 100,
  async open() {
    const given = {
      command: ['node', 'cli.js'],
      part: '--part',
      cwd: '/work',
      log: '/work/slurm',
      name: 'p',
      tasks: [0],
    };
    const plain = slurmSchema.parse({ setup: 'setup.sh' });
    const countOf = (script: string) => script.split(/[\n\r\u0085\u2028\u2029\v\f]/).length;
    const lineCount = countOf(jobScript(given, plain));
    const adapted = { model: '/models/llama', adapter: { decomposed: false, directory: 'a' } };
    const modelfile = (from: string, place: string) =>
      adapterModelfile(adapted as never, { architecture: 'llama' } as never, from, place);
    const modelLines = countOf(modelfile('llama', 'a.gguf'));
    return {
      attack(random) {
        const { breaks, text } = scriptText(random);
        const [what, expected, write] = random.choice<readonly [string, number, () => string]>([
          ['directory', lineCount, () => jobScript({ ...given, cwd: text }, plain)],
          ['--out', lineCount, () => jobScript({ ...given, log: text }, plain)],
          ['name', lineCount, () => jobScript({ ...given, name: text }, plain)],
          ['words', lineCount, () => jobScript({ ...given, command: ['node', text] }, plain)],
          ['setup', lineCount, () => jobScript(given, { ...plain, setup: text })],
          [
            'account',
            lineCount,
            () => jobScript(given, { ...plain, account: slurmSchema.parse({ account: text }).account }),
          ],
          ['--from', modelLines, () => modelfile(text, 'a.gguf')],
          ['name of the GGUF file', modelLines, () => modelfile('llama', text)],
        ]);
        let script: string | undefined;
        const fault = outcome(() => {
          try {
            script = write();
          } catch (error) {
            // The config schema may refuse an account.
            if (what !== 'account') throw error;
          }
        });
        if (fault !== undefined || script === undefined) return fault;
        if (breaks) return `${what} may hold ${shorten(text)}`;
        return countOf(script) === expected ? undefined : `${what} changes the lines: ${shorten(text)}`;
      },
    };
  },
};
