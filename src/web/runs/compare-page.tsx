import type { Hono } from 'hono'
import type { FC } from 'hono/jsx'
import type { Judgement } from '../../hub/contract/hub'
import { grantErrors } from '../../hub/grants/actions'
import { type HubEnv, readReader, requireViewer, toActor } from '../../hub/http/page-entry'
import { type BlindCase, judgeCase, readBlindCase } from '../../hub/trials/trial-actions'
import { AppError } from '../../shared/errors'
import { formatPlural } from '../../shared/format'
import { comparePath, trialPath } from '../../shared/paths'
import { Submit } from '../form/fields'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { readForm } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { AnswerText } from '../parts/answer-text'
import { Block } from '../parts/block'

/** Registers the page where people compare the answers of a trial without knowing which is which. */
export function registerComparePages(app: Hono<HubEnv>): void {
  app.get('/trials/:id/compare', page(showCase))
  app.post('/trials/:id/compare', page(submitJudgement))
}

/** Shows the next case that waits, or the one in the address; the trial when none is left. */
async function showCase(c: PageContext): Promise<Response> {
  const id = c.req.param('id') ?? ''
  const { frame } = await readPage(c, {})
  const { viewer } = frame
  if (!viewer) throw grantErrors.signIn()
  const caller = { viewer, reader: await readReader(c) }
  const found = await readBlindCase(c.var.context, caller, id, c.req.query('case'))
  if (!found) return c.redirect(trialPath(id), 303)
  return sendPage(c, <ComparePage frame={frame} trial={id} of={found} />)
}

/** What can be said of two answers, with the key that says it. */
const choices: { value: Judgement; label: string; key?: string }[] = [
  { value: 'first', label: 'First is better', key: '1' },
  { value: 'second', label: 'Second is better', key: '2' },
  { value: 'same', label: 'No difference', key: '0' },
  { value: 'cannot_tell', label: 'Not sure' },
]

async function submitJudgement(c: PageContext): Promise<Response> {
  const id = c.req.param('id') ?? ''
  const viewer = await requireViewer(c, 'write')
  const read = await readForm(c)
  const chosen = choices.find(({ value }) => value === read('judgement'))
  if (!chosen) throw new AppError('VALIDATION', 'Choose what you think of the two answers.')
  const caller = { viewer, reader: await readReader(c) }
  await judgeCase(c.var.context, toActor(viewer, null), caller, id, read('case'), chosen.value)
  return c.redirect(comparePath(id), 303)
}

interface ComparePageProps {
  frame: Frame
  /** Id of the trial. */
  trial: string
  of: BlindCase
}

/** Shows two answers side by side. Nothing in the page says where either comes from. */
const ComparePage: FC<ComparePageProps> = ({ frame, trial, of }) => (
  <Layout frame={frame} title="Compare answers" place="agents" sheet="admin" scripts={['compare']}>
    <p class="meta">
      <a href={trialPath(trial)}>The trial</a>
    </p>
    <h1 class="up">{of.isSame ? 'The answers are the same' : 'Which answer is better?'}</h1>
    {of.left > 0 && (
      <p class="meta up2">{formatPlural(of.left, 'case', 'cases')} left to compare</p>
    )}
    <Block title="Question">
      {of.question !== '' && <AnswerText of={of.question} />}
      {of.note !== '' && (
        <dl class="def">
          <dt>Right would be</dt>
          <dd>{of.note}</dd>
        </dl>
      )}
    </Block>
    {of.isSame ? <SameAnswer trial={trial} of={of} /> : <Choice trial={trial} of={of} />}
  </Layout>
)

type SidesProps = Pick<ComparePageProps, 'trial' | 'of'>

/** Shows the one answer that both gave: there is nothing to ask. */
const SameAnswer: FC<SidesProps> = ({ trial, of }) => (
  <>
    <Block title="Both answers">
      <AnswerText of={of.first} />
    </Block>
    <p class="acts up5">
      <a class="btn" href={of.left > 0 ? comparePath(trial) : trialPath(trial)}>
        {of.left > 0 ? 'Next case' : 'Back to the trial'}
      </a>
    </p>
  </>
)

/** The two answers, and what can be said of them. */
const Choice: FC<SidesProps> = ({ trial, of }) => (
  <>
    <div class="sides up5">
      <section>
        <h2>First answer</h2>
        <AnswerText of={of.first} />
      </section>
      <section>
        <h2>Second answer</h2>
        <AnswerText of={of.second} />
      </section>
    </div>
    <form class="acts up5" method="post" action={comparePath(trial)}>
      <input type="hidden" name="case" value={of.id} />
      {choices.map(({ value, label, key }) => (
        <Submit name="judgement" value={value} aria-keyshortcuts={key}>
          {label}
          {key && <kbd>{key}</kbd>}
        </Submit>
      ))}
    </form>
  </>
)
