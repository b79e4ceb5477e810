/** What is known of the episodes that prompts show. */
import type { Assembly } from '../experiment/assemble.js';
import { plural } from '../format/numbers.js';
import type { ChatMessage } from '../models/language-model.js';
import { demonstratedContext } from '../prompting/context/demonstrations.js';
import { estimateTokens } from '../prompting/token-estimate.js';
import { type Finding, found, warning } from './findings.js';

/** @param first the first prompt */
export function demonstrationFindings(
  { config, demonstrations }: Pick<Assembly, 'config' | 'demonstrations'>,
  first: readonly ChatMessage[],
): readonly Finding[] {
  const shown = demonstratedContext(demonstrations, config.demonstrations?.digits)?.episodes;
  if (shown === undefined) return [];
  const isShown = first.some(({ content }) => content.includes(shown[0]!.text));
  if (!isShown) {
    return [
      warning({
        field: 'demonstrations',
        message: `the prompt set ${config.prompts.set} shows none of them`,
        remedy: 'include the partial {{> demonstrations}} in its system.hbs, or remove demonstrations',
      }),
    ];
  }
  const steps = (episodes: typeof shown, key: 'shown' | 'length') =>
    episodes.reduce((sum, episode) => sum + episode[key], 0);
  const tokens = shown.reduce((sum, { text }) => sum + estimateTokens(text), 0);
  const [told, all] = [steps(shown, 'shown'), steps(shown, 'length')];
  const of = told < all ? `${told} of ${all} steps` : plural(all, 'step');
  return [
    found(
      'demonstrations',
      `${plural(shown.length, 'episode')}, ${of}: about ${tokens} tokens of every prompt`,
    ),
  ];
}
