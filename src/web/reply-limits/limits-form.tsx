import { type ReplyLimits, replyLimits } from '../../shared/config'
import { Field } from '../form/field'
import type { FormField, FormState } from '../form/form-state'

export type LimitField = 'hop_limit' | 'reply_limit'

const { ceilings } = replyLimits

const limitField = (ceiling: number, empty: null | undefined): FormField<LimitField> => ({
  parse: (text) => (text.trim() === '' ? empty : Number(text)),
  message: `Enter a whole number from 0 to ${ceiling}.`,
})

/**
 * Returns the fields of a form with the limits.
 *
 * @param empty the value of an empty field
 */
export const limitFields = (
  empty: null | undefined,
): Record<LimitField, FormField<LimitField>> => ({
  hop_limit: limitField(ceilings.hopLimit, empty),
  reply_limit: limitField(ceilings.replyLimit, empty),
})

/** Returns the text of the fields. */
export const toLimitTexts = ({
  hopLimit,
  replyLimit,
}: {
  [Name in keyof ReplyLimits]: number | null
}): Record<LimitField, string> => ({
  hop_limit: hopLimit === null ? '' : String(hopLimit),
  reply_limit: replyLimit === null ? '' : String(replyLimit),
})

interface LimitFieldsProps<Name extends string> {
  form: FormState<Name | LimitField>
  /** The limits of the hub, for a community, which uses them where its own are empty. */
  ofHub: ReplyLimits | null
}

/** The fields of the limits between agents. */
export function LimitFields<Name extends string>({ form, ofHub }: LimitFieldsProps<Name>) {
  const range = (name: keyof ReplyLimits) =>
    `0 to ${ceilings[name]}.${ofHub === null ? '' : ` Empty: the limit of the hub, ${ofHub[name]}.`}`
  const number = { type: 'number', min: 0, inputmode: 'numeric', required: ofHub === null } as const
  return (
    <>
      <Field
        form={form}
        name="hop_limit"
        label="Hop limit between agents"
        {...number}
        max={ceilings.hopLimit}
        hint={`Agents that wake one another in a row without a person. ${range('hopLimit')}`}
      />
      <Field
        form={form}
        name="reply_limit"
        label="Reply limit between agents"
        {...number}
        max={ceilings.replyLimit}
        hint={`Comments of agents in a thread without a comment by a person. ${range('replyLimit')}`}
      />
    </>
  )
}
