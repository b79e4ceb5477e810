/** Controls that answer a run's question, or pause, stop and change the run. */
import { useState } from 'preact/hooks';
import type { Item, ShownQuestion } from '../../messages.js';
import { html, submitted } from '../base/html.js';
import { useAnswer, usePost } from '../base/live.js';
import { queryOf } from '../base/words.js';

export function useQuestion(name: string) {
  const { answer, refresh } = useAnswer<ShownQuestion>(`/api/question${queryOf({ of: name })}`);
  return { question: answer?.open ?? null, refreshQuestion: refresh };
}

interface Props {
  readonly name: string;
  readonly question: NonNullable<ShownQuestion['open']>;
  readonly onAnswered: () => void;
}

export function Question({ name, onAnswered, question }: Props) {
  const { isSending, said, send } = usePost();
  const [advice, setAdvice] = useState('');
  const answer = async (feedback: object) => {
    setAdvice('');
    if (await send('/api/answer', { of: name, question: question.question, ...feedback })) onAnswered();
  };
  const submit = submitted((field) => {
    const [rating, remark] = [field('rating'), field('remark')];
    if (rating === '' && remark === '') return setAdvice('Choose a rating, write a remark, or skip.');
    void answer({ ...(rating !== '' && { rating: Number(rating) }), ...(remark !== '' && { remark }) });
  });
  const rating = (value: number, word?: string) =>
    html`<label><input type="radio" name="rating" value=${value} /> ${value}${word && html` <span class="muted">${word}</span>`}</label>`;
  const [first, ...rest] = question.text.split('\n');
  return html`<section id="question" class="question" aria-labelledby="question-title">
<h2 id="question-title">How good is this episode?</h2>
<div class="asked">
${question.picture && html`<img class="episode" src=${question.picture} alt="Animation of the episode" />`}
<form onSubmit=${submit}>
<p>${first}</p>
${rest.length > 0 && html`<p class="told">${rest.join('\n')}</p>`}
<fieldset><legend>Rating</legend>${rating(1, 'bad')}${[2, 3, 4].map((value) => rating(value))}${rating(5, 'good')}</fieldset>
<label class="remark">Remark <textarea name="remark" rows="3" maxlength=${question.longestRemark} placeholder="What went well or badly, and when"></textarea></label>
<p><button type="submit" disabled=${isSending}>Send</button> <button type="button" disabled=${isSending} onClick=${() => answer({})}>Skip</button> <span role="status">${advice || said}</span></p>
<p class="note">The run is waiting. Later prompts include your feedback on this evaluation.</p>
</form>
</div>
</section>`;
}

export function Steering({ item }: { readonly item: Item }) {
  const { isSending, said, send } = usePost();
  const [isSure, setSure] = useState(false);
  const { kind, name, status } = item;
  if (status !== 'running' && status !== 'paused') return said && html`<span role="status">${said}</span>`;
  const steer = (request: object) => {
    setSure(false);
    void send('/api/steer', { of: name, ...request });
  };
  const button = (label: string, act: () => void) =>
    html`<button type="button" disabled=${isSending} onClick=${act}>${label}</button>`;
  const change = submitted((field) => {
    const overrides = field('overrides').split(/\s+/).filter(Boolean);
    if (overrides.length > 0) steer({ action: 'set', overrides });
  });
  return html`<div class="live-line" role="region" aria-label=${`Controls of this ${kind}`}>
${status === 'running' ? button('Pause', () => steer({ action: 'pause' })) : button('Resume', () => steer({ action: 'resume' }))}
${isSure ? button('Confirm stop', () => steer({ action: 'stop' })) : button('Stop', () => setSure(true))}
${kind === 'run' && html`<form onSubmit=${change}><label>Settings <input type="text" name="overrides" placeholder="limits.calls=500 iterations=200" size="28" autocomplete="off" /></label> <button type="submit" disabled=${isSending}>Set</button></form>`}
<span role="status">${said}</span>
</div>`;
}
