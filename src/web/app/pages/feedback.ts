import { useEffect, useState } from 'preact/hooks';
import type { ShownQuestion } from '../../messages.js';
import { html } from '../base/html.js';
import { ask, post } from '../base/live.js';
import { fieldOf } from '../base/words.js';

const ratings = [
  [1, 'bad'],
  [2, ''],
  [3, ''],
  [4, ''],
  [5, 'good'],
];

/** A run's open question, updated when the run's files change. */
export function useQuestion(name: string, version: unknown) {
  const [question, setQuestion] = useState<ShownQuestion['open']>(null);
  useEffect(() => {
    let isUnmounted = false;
    ask<ShownQuestion>(`/api/question?${new URLSearchParams({ of: name })}`).then(
      ({ open }) => {
        // Keep what the user is typing.
        if (!isUnmounted) setQuestion((before) => (before?.question === open?.question ? before : open));
      },
      () => undefined,
    );
    return () => {
      isUnmounted = true;
    };
  }, [name, version]);
  return question;
}

export function Question({
  name,
  question,
  onAnswered,
}: {
  name: string;
  question: NonNullable<ShownQuestion['open']>;
  onAnswered: () => void;
}) {
  const [said, setSaid] = useState('');
  const [isSending, setSending] = useState(false);
  const send = async (answer: object) => {
    setSending(true);
    setSaid('sending …');
    try {
      const { text } = await post<{ text: string }>('/api/answer', {
        of: name,
        question: question.question,
        ...answer,
      });
      setSaid(text);
      onAnswered();
    } catch (error) {
      setSaid(String((error as Error).message));
    }
    setSending(false);
  };
  const submit = (event: SubmitEvent & { currentTarget: HTMLFormElement }) => {
    event.preventDefault();
    const rating = fieldOf(event.currentTarget, 'rating');
    const remark = fieldOf(event.currentTarget, 'remark').trim();
    if (rating === '' && remark === '') setSaid('Choose a rating, write a remark, or skip.');
    else void send({ ...(rating !== '' && { rating: Number(rating) }), ...(remark !== '' && { remark }) });
  };
  const [first = '', ...rest] = question.text.split('\n');
  return html`<section id="question" class="question" aria-labelledby="question-title">
<h2 id="question-title">How good is this episode?</h2>
<div class="asked">
${question.picture && html`<img class="episode" src=${question.picture} alt="Animation of the episode in question" />`}
<form onSubmit=${submit}>
<p>${first}</p>
${rest.length > 0 && html`<p class="told">${rest.join('\n')}</p>`}
<fieldset><legend>Rating</legend>${ratings.map(
    ([value, word]) =>
      html`<label><input type="radio" name="rating" value=${value} /> ${value}${word && html` <span class="muted">${word}</span>`}</label>`,
  )}</fieldset>
<label class="remark">Remark <textarea name="remark" rows="3" maxlength=${question.longestRemark} placeholder="What went well or badly, and when"></textarea></label>
<p><button type="submit" class="main" disabled=${isSending}>Send</button> <button type="button" disabled=${isSending} onClick=${() => send({})}>Skip</button> <span role="status">${said}</span></p>
<p class="note">The run is waiting. Later prompts show your feedback below this evaluation.</p>
</form>
</div>
</section>`;
}

import type { Item } from '../../messages.js';

export function Steering({ item }: { item: Item }) {
  const [said, setSaid] = useState('');
  const [isAsking, setAsking] = useState(false);
  const [isSure, setSure] = useState(false);
  const { name, status } = item;
  if (status !== 'running' && status !== 'paused') return said && html`<span role="status">${said}</span>`;
  const steer = async (request: object) => {
    setAsking(true);
    setSure(false);
    try {
      const { text } = await post<{ text: string }>('/api/steer', { of: name, ...request });
      setSaid(text);
    } catch (error) {
      setSaid(String((error as Error).message));
    }
    setAsking(false);
  };
  const change = (event: SubmitEvent & { currentTarget: HTMLFormElement }) => {
    event.preventDefault();
    const overrides = fieldOf(event.currentTarget, 'overrides').trim().split(/\s+/).filter(Boolean);
    if (overrides.length > 0) void steer({ action: 'set', overrides });
  };
  return html`<div class="live-line" role="region" aria-label=${`Control this ${item.kind}`}>
${
  status === 'running'
    ? html`<button type="button" disabled=${isAsking} onClick=${() => steer({ action: 'pause' })}>Pause</button>`
    : html`<button type="button" disabled=${isAsking} onClick=${() => steer({ action: 'resume' })}>Resume</button>`
}
<button type="button" disabled=${isAsking} onClick=${() => (isSure ? steer({ action: 'stop' }) : setSure(true))}>${isSure ? 'Confirm stop' : 'Stop'}</button>
${item.kind === 'run' && html`<form onSubmit=${change}><label>Settings <input type="text" name="overrides" placeholder="limits.calls=500 iterations=200" size="28" autocomplete="off" /></label> <button type="submit" disabled=${isAsking}>Set</button></form>`}
<span role="status">${isAsking ? 'sending …' : said}</span>
</div>`;
}
