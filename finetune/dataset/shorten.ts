import { Prompter } from '../../src/experiment/prompter.js';
import type { PromptSet } from '../../src/prompting/templates/prompt-set.js';
import { estimateTokens } from '../../src/prompting/token-estimate.js';
import { createReplayBuffer, entriesBefore } from '../../src/rollout/replay-buffer.js';
import { largest } from '../../src/statistics/descriptive.js';
import { promptHash } from './example.js';
import { answerOf, type SourceRun, type Step } from './source-run.js';

/**
 * If a prompt and its reply exceed `context` (in estimated tokens), renders all of the run's prompts again with a
 * smaller `memory.tokens`. A prompt that is too long even with one evaluation stays too long. Keeps the logged prompts
 * if the templates have changed.
 */
export function fitPrompts(run: SourceRun, context: number): SourceRun {
  const { config, manifest, prompts } = run;
  if (prompts?.hash !== manifest.prompts) return run;
  let result = run;
  let historyTokens = Math.min(config.memory.tokens ?? context, context);
  for (let extra = excess(run, context); extra > 0 && historyTokens > 0; extra = excess(result, context)) {
    if (result !== run) historyTokens = Math.max(0, historyTokens - extra);
    result = { ...run, historyTokens, steps: renderSteps(run, prompts, historyTokens) };
  }
  return result;
}

/** Largest number of tokens by which a prompt and its longest reply exceed the context; 0 or less if all fit. */
const excess = (run: SourceRun, context: number): number =>
  largest(
    run.steps.map(
      ({ prompt, proposals }) =>
        prompt.reduce((sum, { content }) => sum + estimateTokens(content), -context) +
        largest(proposals.map((proposed) => estimateTokens(answerOf(run, proposed)))),
    ),
  );

function renderSteps(run: SourceRun, prompts: PromptSet, tokens: number): readonly Step[] {
  const buffer = createReplayBuffer();
  const config = { ...run.config, memory: { ...run.config.memory, tokens } };
  const prompter = new Prompter({ ...run, prompts, buffer, config });
  return run.steps.map((step) => {
    buffer.append(entriesBefore(run.recorded.entries, step.iteration).slice(buffer.entries.length));
    const { messages: prompt, shown } = prompter.prompt(step.iteration);
    const shownCount = shown.evaluations.length;
    return { ...step, prompt, promptHash: promptHash(prompt), promptTokens: undefined, history: shownCount };
  });
}
