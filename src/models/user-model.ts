/** Models written by users: modules named in a config, or objects passed by the calling program. */
import { basename } from 'node:path';
import { untilAborted } from '../base/abortable.js';
import { messageOf, UserError } from '../base/errors.js';
import { errorLocation, isObject, loadModule } from '../base/modules/user-module.js';
import {
  type ChatMessage,
  type Completion,
  type GenerateOptions,
  type LanguageModel,
  ModelError,
} from './language-model.js';
import type { ModuleModelConfig } from './settings.js';

/** A reply: its text, or a completion in which only the text is required. */
type UserReply = string | (Partial<Completion> & Pick<Completion, 'text'>);

/** One reply, or one per seed; missing replies are requested one by one. */
type UserReplies = UserReply | readonly UserReply[];

/** A language model that a user writes: an id, and a function that replies to messages. */
export interface UserModel extends Pick<LanguageModel, 'id' | 'givesSeveral' | 'open' | 'context' | 'close'> {
  /** One reply, or one per seed if `givesSeveral`. If it throws, the call fails; a fatal ModelError ends the run. */
  generate(messages: readonly ChatMessage[], options: GenerateOptions): UserReplies | Promise<UserReplies>;
}

/** Creates a module's model. @throws UserError if loading or `create` fails, or the options or model are unusable */
export async function newUserModel({ path, options }: ModuleModelConfig): Promise<LanguageModel> {
  const module = await loadModule(path, 'model', 'model.path');
  const userModel = await module.create(options, 'model.options');
  if (!isObject(userModel))
    throw new UserError({
      file: module.file,
      message: "create didn't return a model",
      hint: 'return an object with the function generate(messages, options)',
    });
  return wrapUserModel(userModel, `module/${module.name}`, module.file);
}

/**
 * Checks and wraps a user's model.
 * @param file the module that made the model; undefined if the model was passed as an object
 * @throws UserError if the id is empty or not a string, or there is no `generate` function
 */
export function wrapUserModel(userModel: object, name: string, file?: string): LanguageModel {
  const { id = name, givesSeveral, generate, open, context, close } = userModel as Partial<UserModel>;
  const origin = file === undefined ? `the model ${id}` : basename(file);
  const subject = file === undefined ? origin : `the model made by ${origin}`;
  const place = file === undefined ? {} : { file };
  if (typeof id !== 'string' || id === '')
    throw new UserError({ ...place, field: 'id', message: 'must be a non-empty string', value: id });
  if (typeof generate !== 'function') {
    const hint = 'add generate(messages, options), which returns the text of the reply';
    throw new UserError({ ...place, message: `${subject} has no generate function`, hint });
  }
  return {
    id,
    ...(givesSeveral && { givesSeveral }),
    async generate(messages, options) {
      const startMs = performance.now();
      const errorOf = (kind: 'aborted' | 'server' | 'malformed', message: string) =>
        new ModelError(kind, message, { retries: 0, latencyMs: performance.now() - startMs });
      let reply: unknown;
      try {
        // User code may ignore the signal.
        const pending = Promise.resolve(generate.call(userModel, messages, options));
        reply = await untilAborted(pending, options.signal);
      } catch (error) {
        if (error instanceof ModelError) throw error;
        // A module may import its own copy of policyloop, so recreate its error.
        if (error instanceof Error && error.name === 'ModelError') {
          const { kind, message, ...detail } = error as ModelError;
          throw new ModelError(kind, message, Object.assign({ retries: 0, latencyMs: 0 }, detail));
        }
        if (options.signal?.aborted) throw errorOf('aborted', `${origin}: the call was aborted`);
        const { line } = file === undefined ? {} : errorLocation(file, error);
        const location = line === undefined ? origin : `${origin}:${line}`;
        throw errorOf('server', `${location}: generate threw: ${messageOf(error)}`);
      }
      const replies: readonly unknown[] = Array.isArray(reply) && reply.length > 0 ? reply : [reply];
      return replies.slice(0, options.seeds.length).map((userReply, i): Completion => {
        const completion = typeof userReply === 'string' ? { text: userReply } : userReply;
        if (!isObject(completion) || typeof completion.text !== 'string')
          throw errorOf('malformed', `${origin}: generate returned neither text nor {text: …}`);
        return {
          finishReason: 'stop',
          usage: {},
          latencyMs: i > 0 ? 0 : performance.now() - startMs,
          retries: 0,
          ...(completion as Pick<Completion, 'text'>),
        };
      });
    },
    ...(open && { open: () => open.call(userModel) }),
    ...(context && { context: async () => context.call(userModel) }),
    // The calling program closes a model that it passes as an object.
    ...(close && file !== undefined && { close: () => close.call(userModel) }),
  };
}
