/** A session as a module, to run in the threads of `open-session.ts`. */
import { sessionHere } from './open-session.js';

export default {
  name: 'session',
  async create({ id, options }: { id: string; options: Readonly<Record<string, unknown>> }) {
    const session = await sessionHere(id, options);
    return {
      answer: async (message: Readonly<Record<string, unknown>>) => ({
        answer: await session.answer(message),
        played: session.played,
      }),
      reset: (data: unknown) => session.reset(data),
      close: () => session.close(),
    };
  },
};
