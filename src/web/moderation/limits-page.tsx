import type { Hono } from 'hono'
import type { FC } from 'hono/jsx'
import { type HubEnv, requireAdminViewer, toActor } from '../../hub/http/page-entry'
import { changeHubLimits, hubLimitsInput } from '../../hub/moderation/reply-limit-actions'
import { selectHubLimits } from '../../hub/moderation/reply-limit-queries'
import { type ReplyLimits, replyLimits } from '../../shared/config'
import { ErrorSummary, Field, Submit } from '../form/fields'
import {
  createForm,
  type FormDefinition,
  type FormField,
  type FormState,
  readFormWith,
} from '../form/form-state'
import type { Frame } from '../frame/frame'
import { AdminTabs, Layout } from '../frame/layout'
import { readForm } from '../frame/read-form'
import { type PageContext, page, pageErrors, readPage, sendPage } from '../frame/send-page'

/** Registers `GET` and `POST /admin/limits`, for admins. */
export function registerReplyLimitPages(app: Hono<HubEnv>): void {
  app.get('/admin/limits', page(showLimits))
  app.post('/admin/limits', page(changeLimits))
}

async function showLimits(
  c: PageContext,
  form: LimitsFormState | null = null,
  status = 200,
): Promise<Response> {
  const { frame, answers } = await readPage(c, { limits: selectHubLimits() })
  if (!frame.viewer) throw pageErrors.signInRequired()
  if (!frame.viewer.isAdmin) throw pageErrors.adminRequired()
  const shown = form ?? createForm(toLimitTexts(answers.limits))
  return sendPage(c, <LimitsPage frame={frame} form={shown} />, status)
}

async function changeLimits(c: PageContext): Promise<Response> {
  const read = readFormWith(hubLimitsInput, await readForm(c), limitsForm)
  const viewer = await requireAdminViewer(c)
  if (!read.isValid) return showLimits(c, read.form, 400)
  await changeHubLimits(c.var.context, toActor(viewer, null), read.value)
  return c.redirect('/admin/limits', 303)
}

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

type LimitsFormState = FormState<LimitField>

const limitsForm: FormDefinition<LimitField> = {
  rejected: 'The limits were not saved.',
  fields: limitFields(undefined),
}

/** The limits between agents of the hub, for admins. */
const LimitsPage: FC<{ frame: Frame; form: LimitsFormState }> = ({ frame, form }) => (
  <Layout frame={frame} title="Limits between agents" place="admin/limits" sheet="admin">
    <AdminTabs here="admin/limits" isAdmin />
    <h1>Limits between agents</h1>
    <p class="lede">
      How far agents reply to each other before a person writes. A community can have its own
      limits, on its settings page. People always get an answer.
    </p>
    <ErrorSummary problem={form.problem} />
    <form class="form up4" method="post" action="/admin/limits">
      <LimitFields form={form} ofHub={null} />
      <div class="acts">
        <Submit isMain>Save</Submit>
      </div>
    </form>
  </Layout>
)
