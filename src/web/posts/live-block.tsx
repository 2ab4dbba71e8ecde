import { raw } from 'hono/html'
import type { FC } from 'hono/jsx'
import type { AgentApi, AgentState, PlanStep } from '../../agents/contract/agents'
import { findTraceAccess, type TraceViewer } from '../../hub/rules/traces'
import { planStatusLabels } from '../../hub/runs/run-labels'
import { formatDuration, formatMoney } from '../../shared/format'
import { renderMarkdown, unlinkUnknownNames } from '../../shared/markdown/render-markdown'
import { activationPath } from '../../shared/paths'
import type { PageViewer } from '../frame/frame'
import { AccountLink } from '../parts/links'
import { ElapsedTime } from '../parts/times'
import { StopForm } from '../runs/run-page'
import type { RecentRun, ThreadActivation, WorkingRun } from './post-queries'

/** How far a run is, as far as the viewer may see it. */
export interface WorkProgress {
  /** What it does now, as text for people. */
  doing: string | null
  /** The agent's own steps; without titles for those who do not see them. */
  steps: readonly Pick<PlanStep, 'title' | 'status'>[]
  /** What the model writes now; '' for nothing, or for those who do not see it. */
  text: string
  spentMicrousd: number
  /** Time and cost of an answer by the agent; null while too little is known. */
  usual: string | null
}

export const noProgress: WorkProgress = {
  doing: null,
  steps: [],
  text: '',
  spentMicrousd: 0,
  usual: null,
}

/** Runs of a thread whose agents are asked how far they are. */
const askedMax = 5

/** Returns how far runs are, by their ids. An agent that does not answer leaves what the database has. */
export async function readProgress(
  agents: Pick<AgentApi, 'readState'>,
  viewer: TraceViewer | null,
  runs: readonly WorkingRun[],
): Promise<Map<string, WorkProgress>> {
  const read = runs.map(async (run, nth): Promise<[string, WorkProgress]> => {
    const state = nth < askedMax ? await agents.readState(run.agentId).catch(() => null) : null
    return [run.id, toProgress(run, viewer, state?.activationId === run.id ? state : null)]
  })
  return new Map(await Promise.all(read))
}

function toProgress(
  run: WorkingRun,
  viewer: TraceViewer | null,
  state: AgentState | null,
): WorkProgress {
  const plan = findTraceAccess(viewer, run) === 'all' ? state?.plan : state?.publicPlan
  return {
    doing: state?.doing ?? null,
    steps: plan?.steps.filter(({ callId }) => callId === null) ?? [],
    text: run.isForThread ? (state?.text ?? '') : '',
    spentMicrousd: run.spentMicrousd,
    usual: formatUsual(run.recent),
  }
}

/** Runs from which on what is usual is known. */
const knownFrom = 3

const median = (numbers: readonly number[]): number => {
  const sorted = numbers.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  const [low = 0, high = low] = sorted.slice(Math.ceil(middle) - 1, Math.floor(middle) + 1)
  return Math.round((low + high) / 2)
}

/** Formats the medians of an agent's last answers, as `usually 20 s, $0.010`; null for fewer than three. */
function formatUsual(recent: readonly RecentRun[]): string | null {
  if (recent.length < knownFrom) return null
  const costs = recent.flatMap(({ costMicrousd }) => costMicrousd ?? [])
  const cost = costs.length < knownFrom ? 0 : median(costs)
  const time = formatDuration(median(recent.map(({ ms }) => ms)))
  return `usually ${time}${cost === 0 ? '' : `, ${formatMoney(cost, 'thread')}`}`
}

/** Formats where in its plan an agent is, as `2 of 4: reading the thread`. */
function formatPlace(steps: WorkProgress['steps']): string {
  const isNow = (status: PlanStep['status']) => steps.findIndex((step) => step.status === status)
  const at = isNow('running') < 0 ? isNow('pending') : isNow('running')
  if (at < 0) return `${steps.length} of ${steps.length} steps`
  const { title = '' } = steps[at] ?? {}
  return `${at + 1} of ${steps.length}${title === '' ? ' steps' : `: ${title}`}`
}

type RunningActivation = Pick<
  ThreadActivation,
  'agentName' | 'agentAvatarId' | 'startedAt' | 'requesters'
> & { id: string }

interface LiveBlockProps {
  activation: RunningActivation
  progress: WorkProgress
  viewer: PageViewer | null
  postId: string
  now: number
}

/**
 * Shows a running agent in a thread, as far as it is when the page is sent. The live script keeps it up to date: what
 * the agent does, its plan, the text that it is writing, and what it has cost.
 */
export const LiveBlock: FC<LiveBlockProps> = ({ activation, progress, viewer, postId, now }) => {
  const { id, agentName, agentAvatarId, startedAt } = activation
  const { doing, text, spentMicrousd, usual } = progress
  return (
    <div class="live" data-activation={id} data-name={agentName}>
      <div class="by">
        <AccountLink name={agentName} kind="agent" avatarId={agentAvatarId} size="l" />
        <span>
          working for <ElapsedTime since={startedAt} now={now} />
        </span>
        <span data-cost hidden={spentMicrousd === 0}>
          {spentMicrousd > 0 && `${formatMoney(spentMicrousd, 'thread')} so far`}
        </span>
        <span data-usual>{usual}</span>
      </div>
      <p class="do" data-do>
        {agentName} is {doing ?? 'working on an answer'}
      </p>
      <PlanLine steps={progress.steps} />
      <div class="prose" data-html>
        {text !== '' && raw(unlinkUnknownNames(renderMarkdown(text).html, new Set()))}
      </div>
      <p class="words" data-words hidden />
      <p class="meta up">
        <a href={activationPath(id)}>View run step by step</a>
      </p>
      <StopForm
        viewer={viewer}
        activation={activation}
        requesters={activation.requesters}
        postId={postId}
      />
    </div>
  )
}

/** Where the agent is in its plan; opened, all of its steps. */
const PlanLine: FC<Pick<WorkProgress, 'steps'>> = ({ steps }) => (
  <details
    class="way"
    data-plan
    data-labels={JSON.stringify(planStatusLabels)}
    hidden={steps.length === 0}
  >
    <summary>{formatPlace(steps)}</summary>
    <ol>
      {steps.map(({ title, status }) => (
        <li>
          {title || 'Step (title hidden)'} <span>{planStatusLabels[status]}</span>
        </li>
      ))}
    </ol>
  </details>
)

/** The template for agents that start while the page is open; the script then reads the page again. */
export const LiveTemplate: FC = () => (
  <template id="live-block">
    <LiveBlock
      activation={{ id: '', agentName: '?', agentAvatarId: null, startedAt: 0, requesters: [] }}
      progress={noProgress}
      viewer={null}
      postId=""
      now={0}
    />
  </template>
)
