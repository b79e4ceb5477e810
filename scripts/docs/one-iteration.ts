/** Generates docs/tutorials/one-iteration.md: one iteration of a real run, from its prompt to the next one, taken from the logs. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { packageRoot } from '../../src/base/package.js';
import type { ConfigInput } from '../../src/config/config.js';
import { drawEpisode, openDrawable } from '../../src/experiment/animations.js';
import { run } from '../../src/index.js';
import { weightsFrom } from '../../src/policies/policy.js';
import { svgAnimation } from '../../src/rollout/pictures/svg-animation.js';
import type { BufferEntry } from '../../src/rollout/replay-buffer.js';
import { type OpenedRun, readPlayableRun } from '../../src/runs/open-run.js';
import { taskLabels } from '../../src/web/report/data/task-labels.js';

/** An iteration that improves. The run continues for one more, so that the next prompt exists. */
export const shownIteration = 23;

/** Runs the quickstart (with its fixed seed) for a number of iterations, or to its end. */
export async function playShownRun(directory: string, iterations?: number): Promise<OpenedRun> {
  const quickstart = parse(
    readFileSync(join(packageRoot(), 'configs/quickstart.yaml'), 'utf8'),
  ) as ConfigInput;
  await run(iterations === undefined ? quickstart : { ...quickstart, iterations }, { directory });
  return readPlayableRun(directory);
}

/** Runs programs/offline. */
export async function playPrograms(directory: string): Promise<OpenedRun> {
  const folder = join(packageRoot(), 'configs/programs');
  const offline = parse(readFileSync(join(folder, 'offline.yaml'), 'utf8')) as ConfigInput;
  const path = join(folder, 'scripted-model.mjs');
  await run({ ...offline, model: { provider: 'module', path } }, { directory });
  return readPlayableRun(directory);
}

/** Returns the page and its picture. */
export async function oneIteration(
  opened: OpenedRun,
): Promise<{ readonly page: string; readonly picture: string }> {
  const { recorded } = opened;
  const entry = recorded.entries.find(({ iteration }) => iteration === shownIteration)!;
  const before = best(recorded.entries.filter(({ iteration }) => iteration < shownIteration));
  const calls = [...recorded.calls];
  const messages = (iteration: number) => calls.find((call) => call.iteration === iteration)!.messages;
  const [system, user] = messages(shownIteration);
  const { completion } = calls.findLast((call) => call.iteration === shownIteration)!;
  const [, next] = messages(shownIteration + 1);
  const remembered = changedLines(user!.content, next!.content);
  return {
    picture: await drawn(opened, entry),
    page: `# What happens in one iteration

<!-- Generated from a run by scripts/docs/pictures.ts; a test replays the run and compares. -->

This page shows iteration ${shownIteration} of \`policyloop run quickstart\`, taken from the logs of the run: the embedded model,
CartPole-v1, seed ${opened.manifest.seed}. These commands produce the same output on your machine:

\`\`\`sh
npx policyloop run quickstart iterations=${shownIteration + 1} --run-dir buffers/one
npx policyloop show one --iteration ${shownIteration}
\`\`\`

## 1. The prompt

The prompt has two messages, made from the templates of \`prompts.set: compact\`. The system message is the same
throughout the run:

${fenced(system!.content)}

The user message lists the evaluations in memory (\`memory: { best: 8, recent: 4 }\`), on a scale from 0 to 99:

${fenced(user!.content)}

## 2. The reply

The model generates ${completion!.usage.completionTokens} tokens. Tokens that don't fit the answer format are masked:

${fenced(completion!.text)}

## 3. The parameters

The reply is parsed and validated: ten numbers, in range, not tried before. They are the weights of a linear policy. At each
step it pushes the cart to the side with the larger sum of *observation × weight*:

${weightTable(opened, entry, before)}

## 4. The episodes

The policy plays ${entry.returns.length} episodes. Every candidate of the run plays the same ones. Each step with the pole up earns a reward
of 1, so these returns are episode lengths:

${fenced(entry.returns.join(' '))}

The mean is **${entry.score}**; the previous best was ${before.score}, from ${placeOf(before)}. The first episode lasts ${entry.lengths[0]} steps:

![First episode of the policy from iteration ${shownIteration}](../pictures/one-iteration.svg)

${stepTable(opened)}

## 5. The next prompt

The new evaluation is the best so far, so it scores 99 and all others move down the scale. These lines are new in the next
prompt:

${fenced(remembered)}

The run directory holds everything above: the messages and the reply in \`calls.jsonl\`, the parameters and returns in
\`evaluations.jsonl\`, the steps in \`episodes.jsonl\`. \`report.html\` shows every iteration in this way.
The [decision records](../explanation/design.md#decisions) cover the rest, such as corrections of replies and the confirmation at the end of a run.
`,
  };
}

const fenced = (text: string) => `\`\`\`text\n${text}\n\`\`\``;

const best = (entries: readonly BufferEntry[]) => entries.reduce((a, b) => (b.score > a.score ? b : a));

const placeOf = ({ iteration }: BufferEntry) => (iteration === 0 ? 'the warm-up' : `iteration ${iteration}`);

const cells = (values: readonly (string | number)[]) => `| ${values.join(' | ')} |`;

/** The lines of `after` that `before` lacks, ignoring scores: a new best rescales all of them. */
function changedLines(before: string, after: string): string {
  const known = new Set(before.split('\n').map((line) => line.replace(/^\d+ /, '')));
  const isNew = (line: string) => !known.has(line.replace(/^\d+ /, '')) && line !== '';
  return after.split('\n').filter(isNew).join('\n');
}

function weightTable({ family, config }: OpenedRun, entry: BufferEntry, before: BufferEntry): string {
  const { description } = family;
  if (description.kind !== 'linear') throw new Error("the quickstart's policy must be linear");
  const { observations, actions } = taskLabels(config.environment.id, description);
  const [now, then] = [entry, before].map(({ parameters }) => weightsFrom(description, parameters));
  const rows = [...observations, 'bias'].map((name, i) =>
    cells([
      name,
      ...actions.flatMap((_, j) => {
        const at = i * actions.length + j;
        return [now![at]!.toFixed(1), then![at]!.toFixed(1)];
      }),
    ]),
  );
  const head = ['weight of', ...actions.flatMap((action) => [action, 'previous best'])];
  return [cells(head), cells(head.map((_, i) => (i === 0 ? '---' : '---:'))), ...rows].join('\n');
}

function stepTable({ recorded, family, config }: OpenedRun): string {
  const episode = [...recorded.episodes].find(({ iteration }) => iteration === shownIteration)!;
  const { observations, actions } = taskLabels(config.environment.id, family.description);
  const head = ['step', ...observations, 'action', 'reward'];
  const last = episode.actions.length - 1;
  const rows = [0, 1, 2, last].map((step) =>
    cells([
      step + 1,
      ...(episode.observations[step] as readonly number[]).map((value) => value.toFixed(3)),
      actions[episode.actions[step] as number]!,
      episode.rewards[step]!,
    ]),
  );
  return [
    cells(head),
    cells(head.map(() => '---:')),
    ...rows.toSpliced(3, 0, cells(head.map(() => '…'))),
  ].join('\n');
}

/** An SVG animation of the first episode in a policy's evaluation. */
export async function drawn({ config, manifest, family }: OpenedRun, entry: BufferEntry): Promise<string> {
  const environment = await openDrawable(config);
  const setting = { config, seed: manifest.seed, environment, family };
  const { animation } = drawEpisode(setting, entry, { kind: 'evaluated', episode: 0 }, 120);
  return svgAnimation(animation, 480);
}
