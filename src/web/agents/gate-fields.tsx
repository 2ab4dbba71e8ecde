import type { FC } from 'hono/jsx'
import type { TrialGate } from '../../hub/contract/hub'
import { trialLimits } from '../../shared/config'
import { foldText } from '../../shared/fold-text'
import { Field } from '../form/fields'
import type { FormState } from '../form/form-state'
import { listRepeats, toRepeats } from '../runs/replay-promise'

interface GateFieldsProps {
  form: FormState<string>
  /** Names of the sets of the agent. */
  sets: readonly string[]
}

/** The fields of the trial that changes of an agent have to pass. */
export const GateFields: FC<GateFieldsProps> = ({ form, sets }) => {
  const chosen = form.typed.trial_set ?? ''
  const isChosen = (name: string) => foldText(name) === foldText(chosen)
  const isThere = chosen === '' || sets.some(isChosen)
  return (
    <section class="block" id="trial" aria-label="Trial of changes">
      <h2>Trial of changes</h2>
      {sets.length === 0 && isThere ? (
        <p class="meta">
          Once it has a set of recorded runs, each change can be tried on them before it is active.
        </p>
      ) : (
        <>
          <p class="meta">
            With a set, each change that is saved is tried on it first, and becomes active when it
            has passed.
          </p>
          <fieldset class="up2">
            <legend class="vh">What a change has to pass</legend>
            <Field
              form={form}
              as="select"
              name="trial_set"
              label="Set"
              options={[
                ['', 'None: changes are active at once'],
                ...(isThere ? [] : [[chosen, `${chosen}, which does not exist`] as const]),
                // the one that is named otherwise in config.yaml, too
                ...sets.map((name) => [isChosen(name) ? chosen : name, name] as const),
              ]}
            />
            <Field
              form={form}
              name="trial_worse_max"
              label="Cases that may be worse"
              inputmode="numeric"
              maxlength={3}
              autocomplete="off"
            />
            <Field
              form={form}
              name="trial_cost_change_max"
              label="Runs may cost more by (percent)"
              inputmode="decimal"
              maxlength={8}
              autocomplete="off"
              hint="Such as 20. Empty: whatever they cost."
            />
            <Field
              form={form}
              as="select"
              name="trial_repeats"
              label="How often each case is tried"
              options={listRepeats(trialLimits.repeatsMax)}
            />
          </fieldset>
        </>
      )}
    </section>
  )
}

/** Returns the texts of the fields. */
export const toGateTexts = (gate: TrialGate | null): Record<string, string> => ({
  trial_set: gate?.set ?? '',
  trial_worse_max: String(gate?.worseMax ?? 0),
  trial_cost_change_max:
    gate?.costChangeMax == null ? '' : String(Math.round(gate.costChangeMax * 10_000) / 100),
  trial_repeats: String(gate?.repeats ?? 1),
})

/** Names of the fields that are typed into. */
export const gateTexts = ['trial_worse_max', 'trial_cost_change_max'] as const

/** A gate as it was typed, with what is wrong with it by field. */
interface TypedGate {
  gate: TrialGate | null
  errors: Record<string, string>
}

/** Reads the fields; what was not changed stays as it was. */
export function readGate(before: TrialGate | null, read: (name: string) => string): TypedGate {
  const set = read('trial_set')
  if (set === '') return { gate: null, errors: {} }
  const texts = toGateTexts(before)
  const isSame = (name: string) => before !== null && read(name).trim() === texts[name]
  const worse = /^\d{1,3}$/.exec(read('trial_worse_max').trim())?.[0]
  const cost = /^-?\d+(?:[.,]\d+)?$/.exec(read('trial_cost_change_max').trim())?.[0]
  const percent = Number((cost ?? '').replace(',', '.'))
  return {
    gate: {
      set,
      worseMax: isSame('trial_worse_max') ? (before?.worseMax ?? 0) : Number(worse ?? 0),
      costChangeMax: isSame('trial_cost_change_max')
        ? (before?.costChangeMax ?? null)
        : cost === undefined
          ? null
          : percent / 100,
      repeats: isSame('trial_repeats')
        ? (before?.repeats ?? 1)
        : toRepeats(read('trial_repeats'), trialLimits.repeatsMax),
    },
    errors: {
      ...(worse === undefined && {
        trial_worse_max: `Enter a number from 0 to ${trialLimits.casesPerSet}.`,
      }),
      ...(cost === undefined &&
        read('trial_cost_change_max').trim() !== '' && {
          trial_cost_change_max: 'Enter a percentage, such as 20, or nothing.',
        }),
    },
  }
}
