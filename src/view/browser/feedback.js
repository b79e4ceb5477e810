import { useEffect, useState } from 'preact/hooks';
import { ask, post } from './live.js';
import { fieldOf, html } from './words.js';

/** @typedef {import('../messages.js').ShownQuestion} ShownQuestion */

const ratings = [
  [1, 'bad'],
  [2, ''],
  [3, ''],
  [4, ''],
  [5, 'good'],
];

/**
 * A run's open question, updated when the run's files change.
 * @param {string} name @param {unknown} version
 */
export function useQuestion(name, version) {
  const [question, setQuestion] = useState(/** @type {ShownQuestion['open']} */ (null));
  useEffect(() => {
    let isUnmounted = false;
    ask(`/api/question?${new URLSearchParams({ of: name })}`).then(
      (/** @type {ShownQuestion} */ { open }) => {
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

/** @param {{ name: string, question: NonNullable<ShownQuestion['open']>, onAnswered: () => void }} props */
export function Question({ name, question, onAnswered }) {
  const [said, setSaid] = useState('');
  const [isSending, setSending] = useState(false);
  /** @param {object} answer */
  const send = async (answer) => {
    setSending(true);
    setSaid('sending …');
    try {
      /** @type {{ text: string }} */
      const { text } = await post('/api/answer', { of: name, question: question.question, ...answer });
      setSaid(text);
      onAnswered();
    } catch (error) {
      setSaid(String(/** @type {Error} */ (error).message));
    }
    setSending(false);
  };
  /** @param {SubmitEvent & { currentTarget: HTMLFormElement }} event */
  const submit = (event) => {
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

/** @typedef {import('./words.js').Item} Item */

/** @param {{ item: Item }} props */
export function Steering({ item }) {
  const [said, setSaid] = useState('');
  const [isAsking, setAsking] = useState(false);
  const [isSure, setSure] = useState(false);
  const { name, status } = item;
  if (status !== 'running' && status !== 'paused') return said && html`<span role="status">${said}</span>`;
  /** @param {object} request */
  const steer = async (request) => {
    setAsking(true);
    setSure(false);
    try {
      /** @type {{ text: string }} */
      const { text } = await post('/api/steer', { of: name, ...request });
      setSaid(text);
    } catch (error) {
      setSaid(String(/** @type {Error} */ (error).message));
    }
    setAsking(false);
  };
  /** @param {SubmitEvent & { currentTarget: HTMLFormElement }} event */
  const change = (event) => {
    event.preventDefault();
    const overrides = fieldOf(event.currentTarget, 'overrides').trim().split(/\s+/).filter(Boolean);
    if (overrides.length > 0) void steer({ action: 'set', overrides });
  };
  return html`<div class="live-line" role="group" aria-label=${`Control this ${item.kind}`}>
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
