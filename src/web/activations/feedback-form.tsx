import type { FC } from 'hono/jsx'
import { runFeedbackLimits } from '../../shared/config'
import { activationPath } from '../../shared/paths'
import { ErrorSummary } from '../form/error-summary'
import { Field } from '../form/field'
import { createForm, describeText, type FormDefinition, type FormState } from '../form/form-state'
import type { PageViewer } from '../frame/frame'

type FeedbackField = 'value' | 'note'
export type FeedbackFormState = FormState<FeedbackField>

/** The form that rates the answer of a run. */
export const feedbackForm: FormDefinition<FeedbackField> = {
  rejected: 'The rating was not saved.',
  fields: {
    value: { message: 'Choose whether the answer was good.' },
    note: { message: describeText('The note', runFeedbackLimits.noteCharsMax) },
  },
}

/** Counts of the feedback on a run, and the viewer's own. */
export interface FeedbackCounts {
  up: number
  down: number
  /** Null without own feedback. */
  ownValue: number | null
  ownNote: string | null
}

export const noFeedback: FeedbackCounts = { up: 0, down: 0, ownValue: null, ownNote: null }

/** Formats the counts, such as `2 good, 1 bad`; '' without feedback. */
const formatFeedback = ({ up, down }: Pick<FeedbackCounts, 'up' | 'down'>): string =>
  [up > 0 && `${up} good`, down > 0 && `${down} bad`].filter(Boolean).join(', ')

export interface FeedbackFormProps {
  viewer: PageViewer | null
  activationId: string
  /** Names the form on the page: the run, or its comment in a thread. */
  formKey: string
  agentName: string
  counts: FeedbackCounts
  /** Path to return to. */
  next: string
  /** The form that was sent and rejected. */
  form?: FeedbackFormState | null
}

/** A disclosure with the form that rates an answer; the counts alone for viewers who cannot rate it. */
export const FeedbackForm: FC<FeedbackFormProps> = (props) => {
  const { viewer, activationId, agentName, counts, next, form } = props
  const summary = formatFeedback(counts)
  if (viewer?.kind !== 'human' && viewer?.kind !== 'system') {
    return summary === '' ? null : <p class="meta">Rated {summary}</p>
  }
  const hasOwn = counts.ownValue !== null
  const shown = form ?? createForm({ value: '', note: counts.ownNote ?? '' })
  const button = (value: 'up' | 'down', label: string) => {
    const isPressed = counts.ownValue === (value === 'up' ? 1 : -1)
    return (
      <button
        type="submit"
        class={isPressed ? 'btn go' : 'btn'}
        name="value"
        value={value}
        aria-pressed={isPressed ? 'true' : 'false'}
      >
        {label}
      </button>
    )
  }
  return (
    <details class="moderate" id={`rate-${props.formKey}`} open={form != null}>
      <summary>
        {hasOwn ? `You rated: ${counts.ownValue === 1 ? 'good' : 'bad'}` : 'Rate'}
        <span class="vh"> the answer by {agentName}</span>
        {summary !== '' && ` (${summary})`}
      </summary>
      <ErrorSummary problem={form?.problem ?? null} />
      <form class="form up2" method="post" action={`${activationPath(activationId)}/feedback`}>
        <input type="hidden" name="next" value={next} />
        <Field
          form={shown}
          as="textarea"
          name="note"
          id={`note-${props.formKey}`}
          label="Note (optional)"
          rows={3}
          placeholder="This was wrong because ..."
          maxlength={runFeedbackLimits.noteCharsMax}
          hint={`People who see the run can read the note. ${agentName} does not see it.`}
        />
        <div class="acts">
          {button('up', 'Good answer')}
          {button('down', 'Bad answer')}
          {hasOwn && (
            <button type="submit" class="btn" name="value" value="none">
              Remove rating
            </button>
          )}
        </div>
      </form>
    </details>
  )
}
