/** A server's failures and texts, for people. */
import { UserError } from '../../src/errors.js';
import type { ModelError } from '../../src/models/language-model.js';

/** What a request is about, for messages. */
export interface Subject {
  readonly noun: string;
  /** What a 404 means. */
  readonly missing: string;
}

const noApi = 'this server has no fine-tuning API of OpenAI’s kind';
export const subjects = {
  file: { noun: 'file', missing: noApi },
  newJob: { noun: 'job', missing: `${noApi}, or it doesn't know this model` },
  job: { noun: 'job', missing: `the server knows no such job, or ${noApi}` },
  jobs: { noun: 'list of jobs', missing: noApi },
} as const satisfies Record<string, Subject>;

/** What the user can mend becomes a UserError. */
export function refusal(
  error: ModelError,
  subject: Subject,
  keyName: string,
  clean: (text: string) => string,
): Error {
  const message = clean(error.message);
  switch (error.kind) {
    case 'authentication':
      return new UserError({
        field: '--api-key-env',
        message: `${message}; the key was that of ${keyName}`,
        remedy: `check the key in ${keyName}, and whether the account may fine-tune`,
      });
    case 'not-found':
      return new UserError({
        field: '--base-url',
        message: `${subject.missing} (${message})`,
        remedy: 'check the address; finetune train and finetune export need no such server',
      });
    case 'bad-request':
      return new UserError({ message: `the server refuses this: ${message}` });
    default:
      return error;
  }
}

/** A server's text can't write to the terminal what it likes. */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}]+/gu, ' ').trim();
}
