import type { FC } from 'hono/jsx'
import type { DefinitionFiles } from '../../agents/contract/agents'
import type { TrialGate } from '../../hub/contract/hub'
import { readReader } from '../../hub/http/page-entry'
import type { StoredSet } from '../../hub/trials/set-queries'
import { previewTrial, startTrial, type TrialPromise } from '../../hub/trials/trial-actions'
import type { Viewer } from '../../hub/viewers/queries'
import { trialLimits } from '../../shared/config'
import type { ErrorDetail } from '../../shared/errors'
import { formatPlural } from '../../shared/format'
import type { TrialId } from '../../shared/ids'
import { setsPath } from '../../shared/paths'
import { Field, Submit } from '../form/fields'
import { createForm } from '../form/form-state'
import { readFormActor } from '../frame/read-form'
import type { PageContext } from '../frame/send-page'
import { TextLink } from '../parts/links'
import {
  describePromise,
  formatTimes,
  listRepeats,
  OfflineNote,
  toRepeats,
} from '../runs/replay-promise'
import { ProblemList } from './problem-list'

/** The set on which a draft is tried, and how often each of its cases runs. */
export interface SetChoice {
  setId: string
  repeats: number
}

/** Reads what was chosen from the form of a definition. */
export const readSetChoice = (read: (name: string) => string): SetChoice => ({
  setId: read('set'),
  repeats: toRepeats(read('repeats'), trialLimits.repeatsMax),
})

/** What the editor offers to try a draft on. */
export interface OfferedSets {
  sets: StoredSet[]
  choice: SetChoice | null
  /** What the chosen trial costs; null before one is chosen. */
  promise: TrialPromise | null
  /** Whether the agent, or its draft, uses the offline model. */
  isOffline: boolean
}

/**
 * Returns the sets of an agent, with what a trial of the draft on the chosen one costs.
 *
 * @param files the draft; null before one was sent
 */
export async function offerSets(
  c: PageContext,
  viewer: Pick<Viewer, 'id' | 'kind' | 'role'>,
  sets: StoredSet[],
  files: DefinitionFiles | null,
  choice: SetChoice | null,
): Promise<Omit<OfferedSets, 'isOffline'>> {
  // only people try changes
  if (viewer.kind === 'agent') return { sets: [], choice: null, promise: null }
  const isThere = choice !== null && sets.some(({ id }) => id === choice.setId)
  if (!isThere) return { sets, choice: null, promise: null }
  if (files === null) return { sets, choice, promise: null }
  const caller = { viewer, reader: await readReader(c) }
  const input = { files, repeats: choice.repeats }
  const promise = await previewTrial(c.var.context, caller, choice.setId, input)
  return { sets, choice, promise }
}

/** The trial that a save starts. */
export interface SaveTrial {
  /** Name of the set. */
  set: string
  /** Null when the agent does not have the set. */
  promise: TrialPromise | null
}

/** Returns the trial that saving a draft starts, with what it costs. */
export async function readSaveTrial(
  c: PageContext,
  viewer: Pick<Viewer, 'id' | 'kind' | 'role'>,
  sets: StoredSet[],
  files: DefinitionFiles,
  gate: TrialGate,
): Promise<SaveTrial> {
  const found = sets.find(({ isGate }) => isGate)
  if (!found) return { set: gate.set, promise: null }
  const choice = { setId: found.id, repeats: gate.repeats }
  const { promise } = await offerSets(c, viewer, sets, files, choice)
  return { set: gate.set, promise }
}

/** Says beside the button that saves what that starts first. */
export const SaveTrialNote: FC<{ trial: SaveTrial }> = ({ trial: { set, promise } }) => {
  const [problem] = promise?.problems.filter(({ path }) => path === 'set') ?? []
  return (
    <p class="note">
      The change is tried on {set} first, and becomes active when it has passed.{' '}
      {promise === null
        ? 'The set does not exist, so the change waits for an admin.'
        : problem
          ? `No trial can start now, so the change waits for an admin. ${problem.message}`
          : describeTrial(promise)}
    </p>
  )
}

/** Starts a trial of a draft on the chosen set, once for each time that the form was shown. */
export async function startTrialOf(
  c: PageContext,
  viewer: Viewer,
  files: DefinitionFiles,
  { setId, repeats }: SetChoice,
): Promise<TrialId> {
  const caller = { viewer, reader: await readReader(c) }
  const actor = await readFormActor(c, viewer)
  const { answer } = await startTrial(c.var.context, actor, caller, setId, { files, repeats })
  return answer.id
}

interface TryOnSetProps {
  agent: string
  files: DefinitionFiles
  offered: OfferedSets
  /** Problems of the draft that the page shows elsewhere. */
  shown: ErrorDetail[]
}

const tryOnSetId = 'try-on-set'

/** Says on which set the change is to be tried, at the top of the editor that a set has led to. */
export const ChosenSetNote: FC<{ offered: OfferedSets | null }> = ({ offered }) => {
  const set = offered?.promise
    ? undefined
    : offered?.sets.find(({ id }) => id === offered.choice?.setId)
  return set ? (
    <p class="note">
      Change the definition, then <TextLink href={`#${tryOnSetId}`}>try it on {set.name}</TextLink>.
    </p>
  ) : null
}

/** Tries the draft of the form on a set: says what that costs, then starts it. */
export const TryOnSet: FC<TryOnSetProps> = ({ agent, files, offered, shown }) => {
  const { sets, choice, promise, isOffline } = offered
  if (sets.length === 0) {
    return (
      <p class="meta up3">
        To try a change on recorded runs before you save it,{' '}
        <a href={setsPath(agent)}>make a set of them</a>.
      </p>
    )
  }
  const canStart = promise !== null && promise.problems.length === 0
  const form = createForm({
    set: choice?.setId ?? sets[0]?.id ?? '',
    repeats: String(choice?.repeats ?? 1),
  })
  return (
    <section class="block" id={tryOnSetId}>
      <h2>Try on a set</h2>
      {isOffline && <OfflineNote />}
      <fieldset class="up3">
        <Field
          form={form}
          as="select"
          name="set"
          label="Set"
          options={sets.map(({ id, name, cases }): [string, string] => [
            id,
            `${name}, ${formatPlural(cases, 'case', 'cases')}`,
          ])}
        />
        <Field
          form={form}
          as="select"
          name="repeats"
          label="How often each case runs"
          options={listRepeats(trialLimits.repeatsMax)}
        />
      </fieldset>
      {promise && canStart && (
        <p class="up3">{describeTrial(promise)} Nothing is posted, sent or saved.</p>
      )}
      {promise && <Obstacles problems={promise.problems} files={files} shown={shown} />}
      <div class="acts up3">
        {canStart && (
          <Submit isMain name="do" value="start_trial">
            Start trial
          </Submit>
        )}
        <Submit name="do" value="try">
          {canStart ? 'Check and preview cost' : 'Try on the set'}
        </Submit>
        <TextLink href={setsPath(agent)}>Test sets</TextLink>
      </div>
    </section>
  )
}

interface ObstaclesProps extends Pick<TryOnSetProps, 'files' | 'shown'> {
  problems: ErrorDetail[]
}

/** Why a trial cannot start: because of the set, or of the draft. */
const Obstacles: FC<ObstaclesProps> = ({ problems, files, shown }) => {
  const isShown = ({ path, message }: ErrorDetail) =>
    shown.some((each) => each.path === path && each.message === message)
  const ofSet = problems.filter(({ path }) => path === 'set')
  return (
    <>
      {ofSet.map(({ message }) => (
        <p class="note up3">{message}</p>
      ))}
      <ProblemList
        title="Problems of the draft"
        files={files}
        problems={problems.filter((each) => !ofSet.includes(each) && !isShown(each))}
        look="bad"
        isLinked={false}
      />
    </>
  )
}

/** Says what a trial runs and costs, and who compares the answers. */
function describeTrial(promise: TrialPromise): string {
  const { cases, repeats, judge } = promise
  const what = `It runs ${formatPlural(cases, 'case', 'cases')} ${formatTimes(repeats)} with the active definition and with the draft`
  const compared = `${judge ?? 'People'} ${judge === null ? 'compare' : 'compares'} the answers that no check decides.`
  return `${describePromise(what, promise)} ${compared}`
}
