/** Who gives feedback, and whether there is something to be seen. */
import type { CommandContext } from '../../base/context.js';
import { UserError } from '../../base/errors.js';
import type { Config } from '../../config/config.js';
import type { Environment } from '../../environments/environment.js';
import { isRemote, type RemoteEnvironment } from '../../environments/remote/remote-environment.js';
import type { LanguageModel } from '../../models/language-model.js';
import type { FeedbackPrompts } from '../../prompting/templates/prompt-set.js';
import { canDraw, notDrawn } from '../../rollout/replay.js';
import { isViewed } from '../../runs/questions.js';

/** The part of an assembly that is of feedback. */
export interface FeedbackAssembly {
  /** Undefined where a person is asked. */
  readonly prompts: FeedbackPrompts | undefined;
  /** Who answers, where that is not the model of the run, nor a person. */
  readonly model: LanguageModel | undefined;
}

/**
 * @param place directory that the run is in, or that its own is going to be in
 * @param ask of a terminal; undefined where there is none
 * @throws UserError where a person is to be asked whom nobody can reach
 */
export function requirePerson(
  { feedback, model }: Pick<Config, 'feedback' | 'model'>,
  place: string,
  ask: CommandContext['ask'],
): void {
  if (feedback?.from !== 'person' || model.provider === 'replayed') return;
  if (ask !== undefined || isViewed(place)) return;
  throw new UserError({
    field: 'feedback.from',
    value: 'person',
    message: 'there is nobody to ask: this is no terminal, and no live view is open',
    alternatives: ['vision'],
    remedy: `run it in a terminal, or start policyloop view first, which then asks; feedback= leaves it out`,
  });
}

/** Whether episodes of an environment can be drawn. */
export const isDrawn = (environment: Environment | RemoteEnvironment): boolean =>
  !isRemote(environment) && canDraw(environment);

/**
 * @param model that is going to look; undefined where a person is asked
 * @throws UserError where the model sees no pictures, or there are none to be seen
 */
export function requirePictures(
  config: Pick<Config, 'feedback' | 'model'>,
  environment: Environment | RemoteEnvironment,
  model: LanguageModel | undefined,
): void {
  if (config.feedback?.from !== 'vision' || config.model.provider === 'replayed') return;
  if (!isDrawn(environment)) throw notDrawn(environment.id, 'feedback.from');
  if (model === undefined || model.seesImages === true) return;
  throw new UserError({
    field: 'feedback.model',
    message: `${model.id} does not say that it sees pictures (seesImages: true)`,
    alternatives: ['openai', 'ollama', 'a module whose model has seesImages: true'],
    remedy: 'add feedback.model, a model that reads pictures',
  });
}
