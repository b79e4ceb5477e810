/** docs/one-iteration.md: an iteration of a real run, from the prompt to the next one, as its logs tell it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { packageRoot } from '../../src/base/package.js';
import type { ConfigInput } from '../../src/config/config.js';
import { drawEpisode, openDrawable } from '../../src/experiment/animations.js';
import { run } from '../../src/index.js';
import { linearWeights } from '../../src/policies/policy.js';
import { svgAnimation } from '../../src/render/svg-animation.js';
import { taskLabels } from '../../src/report/data/task-labels.js';
import type { BufferEntry } from '../../src/rollout/replay-buffer.js';
import { type OpenedRun, readWholeRun } from '../../src/runs/open-run.js';

/** One that improves; the run goes one further, so that the next prompt is there. */
export const shownIteration = 23;

/** Plays the quickstart, which has a fixed seed: to its end, or as far as the page shows it. */
export async function playShownRun(directory: string, iterations?: number): Promise<OpenedRun> {
  const quickstart = parse(
    readFileSync(join(packageRoot(), 'configs/quickstart.yaml'), 'utf8'),
  ) as ConfigInput;
  await run(iterations === undefined ? quickstart : { ...quickstart, iterations }, { directory });
  return readWholeRun(directory);
}

/** The page and its picture. */
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

<!-- Written by scripts/docs/pictures.ts from a run; a test plays the run again and compares. -->

This is iteration ${shownIteration} of \`policyloop run quickstart\`, as the logs of that run have it: the model of the package,
CartPole-v1, seed ${opened.manifest.seed}. On your machine the same commands show the same:

\`\`\`sh
npx policyloop run quickstart iterations=${shownIteration + 1} --run-dir buffers/one
npx policyloop show one --iteration ${shownIteration}
npx policyloop render one --iteration ${shownIteration} --format svg --out one.svg
\`\`\`

<div class="side-by-side">
<div>

## 1. The prompt

Two messages, from the templates of \`prompts.set: compact\`. The first stays the same in the whole run:

${fenced(system!.content)}

The second has the evaluations that the memory keeps (\`memory: { best: 8, recent: 4 }\`), on a scale from 0 to 99:

${fenced(user!.content)}

</div>
<div>

## 2. The reply

The model writes ${completion!.usage.completionTokens} tokens. \`format: constrained\` lets it choose only tokens that keep to the format:

${fenced(completion!.text)}

## 3. The parameters

The reply is parsed and checked: ten numbers, in range, not tried before. They are the weights of a linear policy, which
pushes the cart to the side with the larger sum of *observation × weight*:

${weightTable(opened, entry, before)}

## 4. The episodes

The policy plays ${entry.returns.length} episodes, on the seeds that every candidate of the run meets. Each step with the pole up earns 1:

${fenced(entry.returns.join(' '))}

The mean is **${entry.score}**; the best before was ${before.score}, of ${placeOf(before)}. This is the first episode, ${entry.lengths[0]} steps:

![The first episode of the policy of iteration ${shownIteration}](pictures/one-iteration.svg)

${stepTable(opened)}

## 5. The next prompt

The new evaluation is the best so far, so it gets the 99, and all others shrink on the
scale. The next prompt has these lines that this one lacks:

${fenced(remembered)}

</div>
</div>

Everything above stands in the run's directory: the messages and the reply in \`calls.jsonl\`, the parameters and returns in
\`evaluations.jsonl\`, the steps in \`episodes.jsonl\`. \`report.html\` shows each iteration like this. What comes
around it, such as corrections of replies and the confirmation at the end, is told in [design.md](design.md).
`,
  };
}

const fenced = (text: string) => `\`\`\`text\n${text}\n\`\`\``;

const best = (entries: readonly BufferEntry[]) => entries.reduce((a, b) => (b.score > a.score ? b : a));

const placeOf = ({ iteration }: BufferEntry) => (iteration === 0 ? 'the warm-up' : `iteration ${iteration}`);

const cells = (values: readonly (string | number)[]) => `| ${values.join(' | ')} |`;

/** Without their places on the scale, which all change with a new best. */
function changedLines(before: string, after: string): string {
  const known = new Set(before.split('\n').map((line) => line.replace(/^\d+ /, '')));
  const isNew = (line: string) => !known.has(line.replace(/^\d+ /, '')) && line !== '';
  return after.split('\n').filter(isNew).join('\n');
}

function weightTable({ family, config }: OpenedRun, entry: BufferEntry, before: BufferEntry): string {
  const { description } = family;
  if (description.kind !== 'linear') throw new Error('the quickstart has a linear policy');
  const { observations, actions } = taskLabels(config.environment.id, description);
  const [now, then] = [entry, before].map(({ parameters }) => linearWeights(description, parameters));
  const rows = [...observations, 'bias'].map((name, i) =>
    cells([
      name,
      ...actions.flatMap((_, j) => {
        const at = i * actions.length + j;
        return [now![at]!.toFixed(1), then![at]!.toFixed(1)];
      }),
    ]),
  );
  const head = ['weight of', ...actions.flatMap((action) => [action, 'best before'])];
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

/** The first episode of a policy, as it was evaluated. */
export async function drawn({ config, manifest, family }: OpenedRun, entry: BufferEntry): Promise<string> {
  const environment = await openDrawable(config);
  const setting = { config, seed: manifest.seed, environment, family };
  const { animation } = drawEpisode(setting, entry, { kind: 'evaluated', episode: 0 }, { maxFrames: 120 });
  return svgAnimation(animation, 480);
}
