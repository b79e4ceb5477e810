/** Client sessions. A session with a user's module runs in its own thread. */
import { basename } from 'node:path';
import { makeEnvironment } from '../../environments/catalogue/open.js';
import { plural } from '../../format/numbers.js';
import { ModuleThread, usualSeconds } from '../../modules/module-thread.js';
import { isModulePath } from '../../modules/user-module.js';
import { Batch } from './batch.js';
import { type Answer, answerTo } from './messages.js';
import { Refusal } from './refusal.js';
import { type Observed, Session } from './session.js';

export interface OpenSession {
  /**
   * Answers one message at a time.
   * @returns undefined if the client ends the session
   * @throws Refusal if the message is invalid, or an environment fails
   */
  answer(message: Readonly<Record<string, unknown>>): Promise<Answer | undefined>;
  reset(data: unknown): Promise<Observed>;
  /** Summary of the session's episodes and steps. */
  readonly played: string;
  close(): void;
}

/** Time limit for closing an environment, in milliseconds. */
const closingMs = 1000;

/** Opens a session with its own environment. @throws the errors of `makeEnvironment` */
export async function openSession(
  id: string,
  options: Readonly<Record<string, unknown>>,
): Promise<OpenSession> {
  return isModulePath(id) ? sessionInThread(id, options) : sessionHere(id, options);
}

export async function sessionHere(
  id: string,
  options: Readonly<Record<string, unknown>>,
): Promise<OpenSession> {
  const make = () => makeEnvironment(id, options);
  const session = new Session(await make());
  const batch = new Batch(make);
  return {
    answer: (message) => answerTo(message, session, batch),
    reset: async (data) => session.reset(data),
    get played() {
      const [episodes, steps] = [session.episodes + batch.episodes, session.steps + batch.steps];
      return `${plural(episodes, 'episode')}, ${plural(steps, 'step')}`;
    },
    close() {
      session.close();
      batch.close();
    },
  };
}

/** The session of `session-module.ts`, called in another thread. */
interface ThreadSession {
  answer(message: object): Promise<{ readonly answer?: Answer; readonly played: string }>;
  reset(data: unknown): Promise<Observed>;
  close(): Promise<void>;
}

async function sessionInThread(id: string, options: Readonly<Record<string, unknown>>): Promise<OpenSession> {
  const thread = new ModuleThread();
  try {
    const path = { own: 'serve/environments/session-module' };
    const setting = { origin: basename(id), seconds: usualSeconds, later: true };
    const module = await thread.load({ path, as: 'helpers', field: 'environment' }, setting);
    const session = (await module.create({ id, options }, 'environment')) as ThreadSession;
    let { played } = await session.answer({ type: 'state' });
    return {
      async answer(message) {
        const answered = await session.answer(message).catch(refused);
        played = answered.played;
        return answered.answer;
      },
      reset: (data) => session.reset(data).catch(refused),
      get played() {
        return played;
      },
      close() {
        // Don't wait for a call that never returns.
        const timer = setTimeout(() => thread.close(), thread.isBusy ? 0 : closingMs);
        session.close().then(
          () => {
            clearTimeout(timer);
            thread.close();
          },
          () => undefined,
        );
      },
    };
  } catch (error) {
    thread.close();
    throw error;
  }
}

/** Recreates a refusal that comes from another thread. */
function refused(error: unknown): never {
  if (!(error instanceof Error) || error.name !== 'Refusal') throw error;
  const { code, faults, message } = error as Refusal;
  throw new Refusal(code, message, faults);
}
