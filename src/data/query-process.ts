/** The process that answers queries, one at a time, and ends itself when one takes too much memory. */
import process from 'node:process';
import { problemsOf } from '../base/errors.js';
import { beyond, type QueryReply, type QueryRequest } from './query.js';
import { answerOf } from './query-tables.js';

/** Milliseconds between two looks at the memory. DuckDB works in threads of its own meanwhile. */
const lookEvery = 5;

const isReady = ({ memory }: QueryRequest['limits']) => process.memoryUsage.rss() < memory / 2;

const reply = (said: QueryReply) => process.send?.(said);

process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
process.on('message', async ({ limits, runs, sql }: QueryRequest) => {
  const tooLarge = beyond(sql, `takes more than ${limits.memory / 2 ** 20} MiB of memory`);
  const look = setInterval(() => {
    if (process.memoryUsage.rss() > limits.memory)
      process.send?.(tooLarge, () => process.kill(process.pid, 'SIGKILL'));
  }, lookEvery);
  try {
    const within = { mostRows: limits.rows, mostBytes: 0.6 * limits.memory };
    const text = JSON.stringify(await answerOf(sql, runs, within));
    if (text.length > limits.bytes) reply(beyond(sql, `gives more than ${limits.bytes / 2 ** 20} MiB`));
    else reply({ kind: 'answer', text, isReady: isReady(limits) });
  } catch (error) {
    const problems = problemsOf(error);
    const isMemory = problems[0]?.message.startsWith('Out of Memory');
    reply(isMemory ? tooLarge : { kind: 'problems', problems, isReady: isReady(limits) });
  } finally {
    clearInterval(look);
  }
});
