import type { Hono } from 'hono'
import type { FC, PropsWithChildren } from 'hono/jsx'
import type { DecidedBy, Verdict } from '../../hub/contract/hub'
import { grantErrors } from '../../hub/grants/actions'
import { type HubEnv, readReader, requireViewer, toActor } from '../../hub/http/page-entry'
import type { TrialSummary } from '../../hub/trials/summary'
import {
  cancelTrial,
  type JudgeWords,
  readTrial,
  type TrialCaseView,
  type TrialView,
} from '../../hub/trials/trial-actions'
import { trialLimits } from '../../shared/config'
import { AppError } from '../../shared/errors'
import { hasSameWords } from '../../shared/fold-text'
import {
  capitalize,
  formatCount,
  formatMoney,
  formatPlural,
  formatShare,
  formatSpan,
} from '../../shared/format'
import { comparePath, replayPath, setPath, trialPath } from '../../shared/paths'
import { draftPath, heldPath } from '../agents/agent-paths'
import { Submit } from '../form/fields'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { readForm } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { Block } from '../parts/block'
import { AccountLink } from '../parts/links'
import { TableHead } from '../parts/lists'
import { StatusShape } from '../parts/meter'
import { excerpt } from '../parts/prose'
import { RelativeTime } from '../parts/times'
import { formatTimes } from './replay-promise'

/** Registers the page of a trial, which shows how a draft did on the cases of a set. */
export function registerTrialPages(app: Hono<HubEnv>): void {
  app.get('/trials/:id', page(showTrial))
  app.post('/trials/:id/cancel', page(submitCancel))
}

async function showTrial(c: PageContext): Promise<Response> {
  const { frame } = await readPage(c, {})
  const { viewer } = frame
  if (!viewer) throw grantErrors.signIn()
  const caller = { viewer, reader: await readReader(c) }
  const trial = await readTrial(c.var.context, caller, c.req.param('id') ?? '')
  const wanted = c.req.query('verdict')
  const chosen = groups.find(({ name }) => name === wanted) ?? null
  return sendPage(c, <TrialPage frame={frame} trial={trial} chosen={chosen} />)
}

/** Cancels a trial and shows it, also when it had already ended. */
async function submitCancel(c: PageContext): Promise<Response> {
  const id = c.req.param('id') ?? ''
  const viewer = await requireViewer(c, 'write')
  await readForm(c)
  try {
    const caller = { viewer, reader: await readReader(c) }
    await cancelTrial(c.var.context, toActor(viewer, null), caller, id)
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'TOO_LATE') throw error
  }
  return c.redirect(trialPath(id), 303)
}

const isOpen = ({ state }: TrialCaseView): boolean =>
  state === 'queued' || state === 'running' || state === 'judging'

const isOver = ({ status }: TrialView): boolean => status !== 'queued' && status !== 'running'

/** Cases by how they ended, as they are filtered. */
interface Group {
  name: string
  label: string
  has(each: TrialCaseView): boolean
}

const ofVerdict = (name: Verdict, label: string): Group => ({
  name,
  label,
  has: ({ verdict }) => verdict === name,
})

const groups: Group[] = [
  ofVerdict('worse', 'Worse'),
  ofVerdict('better', 'Better'),
  ofVerdict('same', 'Same'),
  ofVerdict('cannot_tell', 'Undecided'),
  {
    name: 'waiting',
    label: 'Waiting for people',
    has: ({ state, verdict }) => state === 'done' && verdict === null,
  },
  { name: 'open', label: 'Not ended', has: isOpen },
  { name: 'skipped', label: 'Skipped', has: ({ state }) => state === 'skipped' },
  { name: 'cancelled', label: 'Cancelled', has: ({ state }) => state === 'cancelled' },
]

interface TrialPageProps {
  frame: Frame
  trial: TrialView
  /** Cases that are listed; null: all. */
  chosen: Group | null
}

/** Shows what a trial found: the sum, the numbers of both definitions, and each case. */
const TrialPage: FC<TrialPageProps> = (props) => {
  const { frame, trial } = props
  const { id, agent, summary } = trial
  return (
    <Layout
      frame={frame}
      title={`Trial of ${agent.name}`}
      place="agents"
      sheet="admin"
      {...(isOver(trial) ? {} : { scripts: ['follow'] })}
    >
      <p class="meta">
        <a href={setPath(trial.setId)}>{trial.setName}</a>
      </p>
      <h1 class="up">Trial</h1>
      <p class="by up2">
        <AccountLink {...agent} />
        <span>each case {formatTimes(trial.repeats)} with either definition, asked by</span>
        <AccountLink {...trial.requestedBy} />
        <RelativeTime at={trial.createdAt} now={frame.now} />
      </p>
      {trial.held && <Decides name={agent.name} held={trial.held} />}
      {!isOver(trial) && <Progress trial={trial} />}
      <p class="lede up4">{describeResult(trial)}</p>
      <Verdicts summary={summary} />
      {summary.interval && <Interval {...summary} interval={summary.interval} />}
      <div class="acts up4">
        {summary.waiting > 0 && (
          <a class="btn go" href={comparePath(id)}>
            Compare {formatPlural(summary.waiting, 'case', 'cases')}
          </a>
        )}
        <a class="btn" href={draftPath(agent.name, id, trial.setId)}>
          Open the draft
        </a>
      </div>
      <Sides trial={trial} />
      <Facts trial={trial} />
      <Cases {...props} />
    </Layout>
  )
}

/** Says that the trial decides on a saved change, with what became of that. */
const Decides: FC<{ name: string; held: NonNullable<TrialView['held']> }> = ({ name, held }) => (
  <p class="note up3">
    {describeDecision(name, held)} <a href={heldPath(name)}>The change</a>
  </p>
)

function describeDecision(name: string, { outcome, version }: NonNullable<TrialView['held']>) {
  if (outcome === null) return `A saved change of ${name} waits for this trial to be applied.`
  if (outcome === 'applied')
    return `The change that was tried here is version ${version} of ${name}.`
  return `The change that was tried here was ${outcome}.`
}

function describeCost({ summary, promise, status }: TrialView): string {
  if (promise.costMaxMicrousd === 0) return 'It costs nothing.'
  const cost = formatMoney(summary.costMicrousd, 'trace')
  const soFar = status === 'queued' || status === 'running' ? ' so far' : ''
  return `${capitalize(cost)}${soFar}, at most ${formatMoney(promise.costMaxMicrousd, 'trace')}.`
}

const Progress: FC<{ trial: TrialView }> = ({ trial }) => {
  const { cases, summary, id } = trial
  const done = cases.length - summary.open
  return (
    <section class="live up4" data-running aria-label="Progress">
      <p class="do">
        {formatCount(done)} of {formatPlural(cases.length, 'case', 'cases')} done
      </p>
      <progress value={done} max={Math.max(1, cases.length)} aria-label="Cases that are done" />
      <p class="meta up2">
        {describeCost(trial)}
        <noscript> Reload the page to update it.</noscript>
      </p>
      <form class="stop" method="post" action={`${trialPath(id)}/cancel`}>
        <Submit>Cancel trial</Submit>
      </form>
    </section>
  )
}

/** Says what can be learned from a trial, and why no more. */
function describeResult({ status, summary: { claim, reason } }: TrialView): string {
  if (status === 'queued') return 'It starts when the hub has a free slot.'
  if (claim === 'same') return `The draft does the same. ${reason}`
  if (claim !== 'cannot_tell') return reason
  if (status === 'running') return `No verdict yet. ${reason}`
  return `${status === 'cancelled' ? 'It was cancelled. ' : ''}No verdict. ${reason}`
}

const Verdicts: FC<{ summary: TrialSummary }> = ({ summary }) => {
  const { better, worse, same, cannotTell, waiting, skipped } = summary
  const numbers: [label: string, count: number][] = [
    ['Better', better],
    ['Worse', worse],
    ['Same', same],
    ['Undecided', cannotTell],
    ['Waiting for people', waiting],
    ...(skipped > 0 ? [['Skipped', skipped] as [string, number]] : []),
  ]
  return (
    <dl class="facts up4">
      {numbers.map(([label, count]) => (
        <div>
          <dt>{label}</dt>
          <dd>{formatCount(count)}</dd>
        </div>
      ))}
    </dl>
  )
}

/** Draws the interval of the share of better cases, on a scale from 0 to 1 with a mark at the half. */
const Interval: FC<
  Pick<TrialSummary, 'better' | 'worse'> & { interval: NonNullable<TrialSummary['interval']> }
> = ({ better, worse, interval: { low, high } }) => (
  <div class="meter up3">
    <p class="meta">
      The draft is better in {formatCount(better)} of{' '}
      {formatPlural(better + worse, 'case', 'cases')} with a difference: {formatShare(low)} to{' '}
      {formatShare(high)} of such cases, with a confidence of 95&nbsp;%.
    </p>
    <svg viewBox="0 0 100 14" preserveAspectRatio="none" aria-hidden="true">
      <rect class="track" y="2" width="100" height="10" />
      <rect
        class="used"
        y="2"
        x={(low * 100).toFixed(2)}
        width={Math.max(0.5, (high - low) * 100).toFixed(2)}
        height="10"
      />
      <line x1="50" x2="50" y1="0" y2="14" />
    </svg>
    <svg class="marks" aria-hidden="true">
      <text x="0" y="11">
        always worse
      </text>
      <text x="50%" y="11" text-anchor="middle">
        half
      </text>
      <text x="100%" y="11" text-anchor="end">
        always better
      </text>
    </svg>
  </div>
)

type Row = [label: string, of: (side: 'baseline' | 'candidate') => string]

/** The numbers of both definitions beside each other. */
const Sides: FC<{ trial: TrialView }> = ({ trial: { summary, repeats } }) => {
  const { passed, durationMs, toolErrors, costMonthMicrousd } = summary
  // before a case with checks has run, and in a set without checks
  const hasChecks = passed.baseline.of + passed.candidate.of > 0
  const rows: Row[] = [
    ...(hasChecks
      ? [
          [
            'Runs that passed all checks',
            (side) => `${formatCount(passed[side].samples)} of ${formatCount(passed[side].of)}`,
          ] as Row,
        ]
      : []),
    ...(hasChecks && repeats > 1
      ? [
          [
            `Cases in which all ${repeats} runs passed`,
            (side) =>
              `${formatCount(passed[side].allSamples)} of ${formatCount(passed[side].cases)}`,
          ] as Row,
        ]
      : []),
    ['Time of a run, median', (side) => formatSpan(durationMs[side].p50)],
    ['Time of a run, 95th percentile', (side) => formatSpan(durationMs[side].p95)],
    ['Tool calls that failed', (side) => formatCount(toolErrors[side])],
    [
      'Cost of a month',
      (side) =>
        costMonthMicrousd === null ? 'unpriced' : formatMoney(costMonthMicrousd[side], 'budget'),
    ],
  ]
  return (
    <Block title="Active and draft">
      <table class="tbl fold">
        <TableHead columns={[{ hidden: 'What' }, { right: 'Active' }, { right: 'Draft' }]} />
        <tbody>
          {rows.map(([label, of]) => (
            <tr>
              <th scope="row">{label}</th>
              <td class="r" data-l="Active">
                {of('baseline')}
              </td>
              <td class="r" data-l="Draft">
                {of('candidate')}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="meta">
        Active: the definition that was active when the trial began. Month: as many runs as in the
        30 days before it.
      </p>
    </Block>
  )
}

/** Noise, cost and who compares. */
const Facts: FC<{ trial: TrialView }> = ({ trial }) => {
  const { judge, summary } = trial
  const { noise, agreement } = summary
  return (
    <dl class="def up3">
      <dt>Noise</dt>
      <dd>
        {noise === 0
          ? 'In no case did the active definition do better or worse than what happened.'
          : `In ${formatPlural(noise, 'case', 'cases')} the active definition did better or worse than what happened: a difference that the draft did not make.`}
      </dd>
      <dt>Cost</dt>
      <dd>
        {describeCost(trial)}
        {summary.reused > 0 &&
          ` Reused from earlier replays: ${formatPlural(summary.reused, 'run', 'runs')} of the active definition.`}
      </dd>
      <dt>Compared by</dt>
      <dd>
        {judge === null ? (
          'checks, then people'
        ) : (
          <>
            checks, then <code>{judge}</code>, asked twice with the answers exchanged
            {agreement &&
              `. People agree with it in ${agreement.same} of ${formatPlural(agreement.of, 'case', 'cases')}`}
          </>
        )}
      </dd>
    </dl>
  )
}

const Cases: FC<TrialPageProps> = ({ trial, chosen }) => {
  const { id, cases } = trial
  const shown = cases.filter((each) => chosen?.has(each) ?? true)
  const filled = groups.filter((group) => cases.some(group.has) || group === chosen)
  return (
    <section class="block" id="cases">
      <h2>Cases</h2>
      <nav class="tabs" aria-label="Verdict">
        <Tab href={`${trialPath(id)}#cases`} isHere={chosen === null}>
          All {formatCount(cases.length)}
        </Tab>
        {filled.map((group) => (
          <Tab href={`${trialPath(id)}?verdict=${group.name}#cases`} isHere={group === chosen}>
            {group.label} {formatCount(cases.filter(group.has).length)}
          </Tab>
        ))}
      </nav>
      {shown.length === 0 ? (
        <p class="empty">No such case.</p>
      ) : (
        <table class="tbl fold">
          <TableHead columns={['Case', 'Verdict', 'By', 'Failed checks', { hidden: 'Pages' }]} />
          <tbody>
            {shown.map((each) => (
              <CaseRow trial={trial} of={each} />
            ))}
          </tbody>
        </table>
      )}
    </section>
  )
}

const Tab: FC<PropsWithChildren<{ href: string; isHere: boolean }>> = (props) => (
  <a href={props.href} aria-current={props.isHere ? 'page' : undefined}>
    {props.children}
  </a>
)

const questionCharsMax = 200

const CaseRow: FC<{ trial: TrialView; of: TrialCaseView }> = ({ trial, of }) => {
  const { id, isVisible, replayId, state } = of
  return (
    <tr id={`case-${id}`}>
      <td>
        {isVisible
          ? excerpt(of.question, questionCharsMax) || 'No question.'
          : 'A run that you do not see.'}
        {of.reason !== null && <p class="meta">{of.reason}</p>}
        {isVisible && <Notes of={of} />}
      </td>
      <td data-l="Verdict">
        <VerdictOf of={of} />
      </td>
      <td data-l="By">
        <DecidedByOf of={of} />
      </td>
      <td class="whole" data-l="Failed checks">
        <FailedChecks of={of} />
      </td>
      <td class="whole">
        {isVisible && (
          <span class="acts">
            {replayId !== null && <a href={replayPath(replayId)}>Replay</a>}
            {state === 'done' && !(trial.repeats === 1 && isEqual(of)) && (
              <a href={`${comparePath(trial.id)}?case=${encodeURIComponent(id)}`}>Compare</a>
            )}
          </span>
        )}
      </td>
    </tr>
  )
}

/** Whether the first answers are known to have the same words: of long ones only the beginning is in the list. */
const isEqual = ({ verdict, baseline, candidate }: TrialCaseView): boolean =>
  verdict === 'same' &&
  baseline !== null &&
  candidate !== null &&
  Math.max(baseline.answer.length, candidate.answer.length) < trialLimits.listedCharsMax &&
  hasSameWords(baseline.answer, candidate.answer)

const verdictNames: Record<Verdict, string> = {
  better: 'better',
  worse: 'worse',
  same: 'same',
  cannot_tell: 'undecided',
}

const stateNames: Record<TrialCaseView['state'], string> = {
  queued: 'waits',
  running: 'running',
  judging: 'being compared',
  done: 'waiting for people',
  skipped: 'skipped',
  cancelled: 'cancelled',
}

const VerdictOf: FC<{ of: TrialCaseView }> = ({ of: { verdict, state } }) => {
  if (verdict === 'better') return <StatusShape look="ok" word="better" />
  if (verdict === 'worse') return <StatusShape look="crit" word="worse" />
  return <span>{verdict === null ? stateNames[state] : verdictNames[verdict]}</span>
}

const deciders: DecidedBy[] = ['checks', 'judge', 'people']

/** Why a case without checks is decided before anybody has compared its answers. */
const plainReasons: Record<Verdict, string> = {
  better: 'the active run failed',
  worse: 'the draft failed',
  same: 'the same answer',
  cannot_tell: '',
}

/** Who decided, and what others say. */
const DecidedByOf: FC<{ of: TrialCaseView }> = ({ of }) => {
  const { by, verdict, verdicts } = of
  const hasNoChecks = of.isVisible && of.checks.length === 0
  const others = deciders.flatMap((each) => {
    const verdict = verdicts[each]
    const isSilent = each === 'checks' && hasNoChecks
    return each === by || verdict === null || isSilent ? [] : [`${each}: ${verdictNames[verdict]}`]
  })
  const said = by === 'checks' && hasNoChecks && verdict ? plainReasons[verdict] : by
  return !said && others.length === 0 ? null : (
    <div>
      {said}
      {others.map((text) => (
        <p class="meta">{text}</p>
      ))}
    </div>
  )
}

/** The note of a case, why a side is incomplete, and the words of the judge. */
const Notes: FC<{ of: TrialCaseView }> = ({
  of: { id, note, baseline, candidate, judgements },
}) => (
  <>
    {note !== '' && <p class="meta">Right would be: {note}</p>}
    {baseline?.incomplete && <p class="meta">Active, incomplete: {baseline.incomplete}</p>}
    {candidate?.incomplete && <p class="meta">Draft, incomplete: {candidate.incomplete}</p>}
    {judgements.length > 0 && (
      <details id={`words-${id}`}>
        <summary class="meta">Words of the judge</summary>
        <ul class="list">
          {judgements.map((each) => (
            <li>
              <div>
                <p class="meta">{describeJudgement(each)}</p>
                <p>{each.reason}</p>
              </div>
            </li>
          ))}
        </ul>
      </details>
    )}
  </>
)

const sideNames = { baseline: 'active', candidate: 'draft' } as const

/** Says which order the judge was shown, and what it named. */
function describeJudgement({ sample, first, says }: JudgeWords): string {
  const second = first === 'baseline' ? 'candidate' : 'baseline'
  const named = {
    first: `${sideNames[first]} is better`,
    second: `${sideNames[second]} is better`,
    same: 'no difference',
    cannot_tell: 'undecided',
  }[says]
  return `Run ${sample}, ${sideNames[first]} shown first: ${named}`
}

/** The checks of a case that a run of either definition did not pass. */
const FailedChecks: FC<{ of: TrialCaseView }> = ({ of }) => {
  const failures = (['candidate', 'baseline'] as const).flatMap((side) => listFailures(of, side))
  return failures.length === 0 ? null : (
    <div>
      {failures.map(({ side, text }) => (
        <p class={side === 'candidate' ? '' : 'meta'}>{text}</p>
      ))}
    </div>
  )
}

function listFailures({ checks, results }: TrialCaseView, side: 'baseline' | 'candidate') {
  return checks.flatMap((_, at) => {
    const ofCheck = results?.[side].flatMap((sample) => sample[at] ?? []) ?? []
    const failed = ofCheck.filter(({ passed }) => !passed)
    const count = ofCheck.length > 1 ? `, ${failed.length} of ${ofCheck.length}` : ''
    const text = `${capitalize(sideNames[side])}${count}: ${failed[0]?.detail}`
    return failed.length === 0 ? [] : [{ side, text }]
  })
}
