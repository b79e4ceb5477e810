/** The feedback of a run: whom to ask, what to ask, and what to show. */
import { join } from 'node:path';
import { type CommandContext, shownPath } from '../base/context.js';
import { type FeedbackConfig, framesOf, visionModelOf } from '../config/feedback.js';
import { customPrefix } from '../environments/catalogue/open.js';
import { isRemote } from '../environments/remote/remote-environment.js';
import type { LanguageModel } from '../models/language-model.js';
import { isModulePath } from '../modules/user-module.js';
import { taskContext } from '../prompting/context/task-context.js';
import { encodingFor } from '../prompting/notation/encoding.js';
import { answerFormOf } from '../prompting/notation/grammar.js';
import { pngFrames } from '../render/png.js';
import { notDrawn } from '../rollout/replay.js';
import { closeQuestion } from '../runs/requests.js';
import { iterationName, makeAnimationsFolder, openDrawable } from './animations.js';
import type { Assembly } from './assemble.js';
import {
  type Draw,
  drawing,
  momentsOf,
  type PersonAccess,
  personFor,
  type SeenEpisode,
} from './feedback/person.js';
import {
  type FeedbackAssembly,
  isDrawn,
  personQuestions,
  type Questions,
  visionQuestions,
} from './feedback/questions.js';
import { languageModelIn } from './proposer.js';

export interface FeedbackParts {
  readonly config: FeedbackConfig;
  readonly questions: Questions;
  /** Returns the model or person to ask about an episode; aborting `finish` ends the wait for a person. */
  readonly asked: (seen: SeenEpisode, finish: AbortSignal) => LanguageModel;
  /** True for a person, whose time doesn't count towards time limits. */
  readonly isPerson: boolean;
  /** True for a language model other than a recording: its calls must not be repeated. */
  readonly isPaid: boolean;
  /** True once the model's server has answered. */
  isReached: boolean;
  readonly close: () => void;
}

/** How a run reaches a person. */
export type PersonOfRun = Omit<PersonAccess, 'path' | 'picture' | 'draw' | 'stepSeconds'> &
  Pick<CommandContext, 'cwd'>;

type Asking = Pick<
  Assembly,
  'config' | 'demonstrations' | 'environment' | 'family' | 'feedback' | 'model' | 'prompts'
>;

/**
 * @param path directory of the run
 * @returns undefined if the config doesn't ask for feedback
 */
export async function openFeedback(
  assembly: Asking,
  path: string,
  person: PersonOfRun,
): Promise<FeedbackParts | undefined> {
  const { config, environment, feedback } = assembly;
  if (config.feedback === undefined || feedback === undefined) return undefined;
  const common = {
    config: config.feedback,
    questions: questionsOn(assembly, config.feedback, feedback),
    isReached: false,
  };
  if (config.model.provider === 'replayed') {
    const recorded = languageModelIn(assembly.model)!;
    return { ...common, asked: () => recorded, isPerson: false, isPaid: false, close: () => undefined };
  }
  const own = isDrawn(environment) ? await ownEnvironment(assembly) : undefined;
  await assembly.family.prepare?.();
  const draw = own && drawing({ ...assembly, ...own, ...placeOf(assembly) });
  const close = () => own?.close();
  const isPerson = config.feedback.from === 'person';
  const answerer = feedback.model ?? (isPerson ? undefined : languageModelIn(assembly.model));
  const stepSeconds = stepSecondsOf(environment);
  if (answerer !== undefined) {
    const asked = (seen: SeenEpisode) => sees(answerer, seen, draw, framesOf(config.feedback!), stepSeconds);
    return { ...common, asked, isPerson, isPaid: !isPerson, close };
  }
  // A killed process may have left its question open.
  closeQuestion(path);
  const access: PersonAccess = {
    ...{ ...person, path, draw, stepSeconds },
    picture(iteration) {
      const name = `${iterationName(iteration).replace('iteration', 'feedback')}.gif`;
      const file = join(makeAnimationsFolder(path), name);
      return { file, name, shown: shownPath(file, person.cwd) };
    },
  };
  return {
    ...common,
    asked: (seen, finish) => personFor(access, config.feedback!, seen, finish),
    ...{ isPerson, isPaid: false, close },
  };
}

/** Adds drawn frames of the episode to the question if the model can see images. */
function sees(
  model: LanguageModel,
  seen: SeenEpisode,
  draw: Draw | undefined,
  count: number,
  stepSeconds: number | undefined,
): LanguageModel {
  if (model.seesImages !== true || draw === undefined) return model;
  const moments = momentsOf(seen.record, count, stepSeconds).map(({ at }) => at);
  return {
    id: model.id,
    rate: model.rate,
    // One `generate` call covers all attempts, so the frames are drawn only once.
    generate: async (messages, options) =>
      model.generate(messages, { ...options, images: pngFrames(draw(seen), moments, frameWidth) }),
  };
}

const frameWidth = 320; // pixels

/** Builds the questions; needs no model. */
export function questionsOn(
  assembly: Omit<Asking, 'feedback' | 'model'>,
  section: FeedbackConfig,
  { prompts: templates }: FeedbackAssembly,
): Questions {
  const { config, environment, family } = assembly;
  if (templates === undefined) return personQuestions(environment, isDrawn(environment));
  return visionQuestions({
    ...{ config: section, digits: config.memory.digits, prompts: templates },
    encoding: encodingFor(family, 'numeric'),
    stepSeconds: stepSecondsOf(environment),
    task: taskContext(assembly, answerFormOf(visionModelOf(config), config.prompts)),
  });
}

const stepSecondsOf = (environment: Assembly['environment']) =>
  isRemote(environment) ? undefined : environment.stepSeconds;

const placeOf = ({ config, environment }: Asking) => ({
  maxSteps: config.evaluation.maxSteps,
  // Show the name of a module's environment instead of the module's path.
  title: isModulePath(config.environment.id) ? environment.id : config.environment.id,
});

/**
 * Opens a separate environment, so drawing can't affect evaluations. An environment that the program passed in as an
 * object is reused, because it can't be opened again.
 */
async function ownEnvironment({ config, environment }: Asking) {
  if (isRemote(environment)) throw notDrawn(environment.id, 'feedback.from');
  if (environment.id.startsWith(customPrefix)) return { environment, close: () => undefined };
  const opened = await openDrawable(config, 'feedback.from');
  return { environment: opened, close: () => opened.close?.() };
}
