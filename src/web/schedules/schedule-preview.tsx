import type { FC } from 'hono/jsx'
import type { DefinitionFacts, Rehearsal, ScheduleEntry } from '../../agents/contract/agents'
import { countedRunsMax } from '../../agents/contract/schedules'
import { formatMoney, formatPlural } from '../../shared/format'
import { formatRunCost } from '../agents/format-run-cost'
import type { FormState } from '../form/form-state'
import { FormKey } from '../frame/form-key'
import { NextRuns } from './next-runs'
import type { ScheduleField } from './schedule-form'
import { schedulesPath } from './schedules-path'

/** A schedule that is shown before it is saved. */
export interface SchedulePreview {
  entry: ScheduleEntry
  facts: DefinitionFacts
  rehearsal: Rehearsal | null
}

function formatDayMost({ entry, facts }: SchedulePreview): string {
  const runs = entry.runsInDay
  const count =
    runs >= countedRunsMax ? `${countedRunsMax} runs or more` : formatPlural(runs, 'run', 'runs')
  if (facts.runCostMaxMicrousd === null) return count
  const limit = facts.budget.costPerDayMicrousd
  const most = runs * facts.runCostMaxMicrousd
  return limit !== null && limit < most
    ? `${count}, ${formatMoney(limit, 'budget')}: the budget a day of the definition`
    : `${count}, ${formatMoney(most, 'trace')}`
}

interface PreviewProps {
  name: string
  /** The version that the author started from. */
  base: number
  form: FormState<ScheduleField>
  /** Key of the schedule that would change; null for a new one. */
  edited: string | null
  preview: SchedulePreview
}

/** Shows what a schedule would do and cost, with the form that saves it. */
export const Preview: FC<PreviewProps> = ({ name, base, form, edited, preview }) => {
  const { entry, facts, rehearsal } = preview
  return (
    <section class="block" id="preview" aria-label="Preview of the schedule">
      <h2>Before you save</h2>
      <p class="words">{entry.task}</p>
      {entry.isPaused && (
        <p class="meta up2">
          <b>Paused.</b> It stays paused. These are its next runs if you resume it.
        </p>
      )}
      <NextRuns entry={entry} />
      <dl class="def up3">
        <dt>Model</dt>
        <dd>{facts.model}</dd>
        <dt>One run at most</dt>
        <dd>{formatRunCost(facts)}</dd>
        <dt>Next 24 hours at most</dt>
        <dd>{formatDayMost(preview)}</dd>
      </dl>
      {!facts.grants.some((grant) => writeGrants.includes(grant)) && (
        <p class="note up3">
          The definition of {name} does not request <code>hub:write</code>, so {name} posts nothing
          in this hub. Its answer is on the page of the run.
        </p>
      )}
      {rehearsal && <RehearsalBlock rehearsal={rehearsal} />}
      <form class="acts up3" method="post" action={schedulesPath(name)}>
        <FormKey />
        <input type="hidden" name="base" value={String(base)} />
        {edited !== null && <input type="hidden" name="key" value={edited} />}
        {(Object.keys(form.typed) as ScheduleField[]).map((field) => (
          <input type="hidden" name={field} value={form.typed[field]} />
        ))}
        <button type="submit" class="btn go" name="do" value="save">
          Save schedule
        </button>
        <button type="submit" class="btn" name="do" value="edit">
          Change
        </button>
        <a class="ul" href={schedulesPath(name)}>
          Cancel
        </a>
      </form>
    </section>
  )
}

/** Grants of the tools that post in this hub. */
const writeGrants = ['hub:write', 'hub:*', '*']

const RehearsalBlock: FC<{ rehearsal: Rehearsal }> = ({ rehearsal }) => (
  <>
    <h3 class="up3">Rehearsal</h3>
    <RehearsedSteps {...rehearsal} />
    <p class="meta up2">Nothing was spent, called or posted.</p>
    <details class="up2">
      <summary class="meta">Prompt of the first step, without memory and tools</summary>
      {rehearsal.prompt.map(({ role, text }) => (
        <>
          <h4>{role}</h4>
          <p class="words">{text}</p>
        </>
      ))}
    </details>
  </>
)

/** The steps of a run as far as they are known before it: later ones depend on what its tools return. */
const RehearsedSteps: FC<Rehearsal> = ({ firstStep, stepsMax, toolCallsMax }) => (
  <ol>
    <li>The model gets the task with the prompt below, its memory and its tools.</li>
    {'tool' in firstStep ? (
      <>
        <li>
          The built-in offline model begins with <code>{firstStep.tool}</code>{' '}
          <code>{firstStep.arguments}</code>. Another model may begin differently.
        </li>
        <li>
          The next steps depend on the results: at most{' '}
          {formatPlural(stepsMax - 1, 'further step', 'further steps')} and{' '}
          {formatPlural(toolCallsMax, 'tool call', 'tool calls')} in all.
        </li>
      </>
    ) : (
      <li>The built-in offline model answers: {firstStep.answer}</li>
    )}
    <li>The answer is on the page of the run. Only its tools post.</li>
  </ol>
)
