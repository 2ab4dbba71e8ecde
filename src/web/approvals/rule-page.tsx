import type { FC } from 'hono/jsx'
import * as z from 'zod'
import {
  approvalErrors,
  type PreparedRule,
  previewRule,
  type RuleInput,
  ruleErrors,
  ruleInput,
  submitDecision,
} from '../../hub/approvals/actions'
import {
  escapeInvisible,
  redactApproval,
  type VisibleApproval,
} from '../../hub/approvals/arguments'
import {
  type ApprovalRow,
  type RuleScope,
  selectApproval,
  selectRuleScope,
} from '../../hub/approvals/queries'
import type { ArgumentRule } from '../../hub/contract/hub'
import { readCredential, requireAdminViewer } from '../../hub/http/page-entry'
import { formatToolName } from '../../hub/rules/traces'
import { requestReader } from '../../hub/viewers/reader'
import { standingRules } from '../../shared/config'
import { describeIssue } from '../../shared/describe-issue'
import { formatExact, toIso } from '../../shared/format'
import { Checkbox, ErrorSummary, Field, Submit } from '../form/fields'
import {
  createForm,
  type FormDefinition,
  type FormState,
  isChecked,
  readFormWith,
  toProblem,
} from '../form/form-state'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { FormKey, readForm, readFormActor } from '../frame/read-form'
import { type PageContext, readPage, sendPage } from '../frame/send-page'
import { Block } from '../parts/block'
import { TextLink } from '../parts/links'
import { ArgumentsBlock, rulePath } from './approvals-page'

/** Everything that the page of a rule shows. */
interface RuleRead {
  frame: Frame
  row: ApprovalRow
  scope: RuleScope
}

/** @throws UNAUTHORIZED, FORBIDDEN, NOT_FOUND */
async function readRule(c: PageContext): Promise<RuleRead> {
  const credential = await readCredential(c)
  if (!credential) throw approvalErrors.signInRequired()
  const id = c.req.param('id') ?? ''
  const now = c.var.context.clock.now()
  const { frame, answers } = await readPage(c, {
    row: selectApproval({ id, reader: requestReader(credential, now) }),
    scope: selectRuleScope({ approvalId: id }),
  })
  if (!frame.viewer) throw approvalErrors.signInRequired()
  if (!frame.viewer.isAdmin) throw ruleErrors.adminOnly()
  const { row, scope } = answers
  if (!row || !scope) throw approvalErrors.notFound()
  return { frame, row, scope }
}

/** Shows what the narrowest rule for a pending call would cover. */
export async function showRule(c: PageContext): Promise<Response> {
  const read = await readRule(c)
  const form = createForm(narrowestTyped(listVarying(read.row.arguments)))
  return sendRule(c, read, form, narrowestRule)
}

/** Shows what the rule of the form would cover, or approves the call and creates the rule. */
export async function createRule(c: PageContext): Promise<Response> {
  const viewer = await requireAdminViewer(c)
  const form = await readForm(c)
  const read = await readRule(c)
  const varying = listVarying(read.row.arguments)
  const parsed = readFormWith(ruleFormSchema(varying), form, ruleForm(varying))
  if (!parsed.isValid) return sendRule(c, read, parsed.form, null, 400)
  if (form('do') !== 'create') return sendRule(c, read, parsed.form, parsed.value)
  try {
    const decision = { decision: 'approve' as const, note: '', standing_rule: parsed.value }
    await submitDecision(c.var.context, await readFormActor(c, viewer), read.row.id, decision)
  } catch (error) {
    const { status, ...problem } = toProblem(error)
    return sendRule(c, read, { ...parsed.form, problem }, null, status)
  }
  return c.redirect('/approvals', 303)
}

async function sendRule(
  c: PageContext,
  { frame, row, scope }: RuleRead,
  form: FormState<string>,
  input: RuleInput | null,
  status = 200,
): Promise<Response> {
  const { context } = c.var
  const { rule, problem } = input
    ? await tryPreview(() => previewRule(context, row, scope, input))
    : { rule: null, problem: form.problem }
  return sendPage(
    c,
    <RulePage
      frame={frame}
      row={redactApproval(row, frame.viewer, context.settings)}
      varying={listVarying(row.arguments)}
      form={{ ...form, problem: problem ?? form.problem }}
      rule={rule}
    />,
    status,
  )
}

/** Returns the rule, or why it cannot be created. */
async function tryPreview(preview: () => Promise<PreparedRule>) {
  try {
    return { rule: await preview(), problem: null }
  } catch (error) {
    const { status: _, ...problem } = toProblem(error)
    return { rule: null, problem }
  }
}

interface RulePageProps {
  frame: Frame
  row: VisibleApproval
  varying: readonly VaryingArgument[]
  form: FormState<string>
  /** What the rule of the form would cover; null when it cannot be created. */
  rule: PreparedRule | null
}

/** Shows what a standing rule would cover, with the button that approves the call and creates the rule. */
const RulePage: FC<RulePageProps> = (props) => {
  const { frame, row, form, rule } = props
  return (
    <Layout frame={frame} title="Approve, and don’t ask again" place="approvals" sheet="admin">
      <h1>Approve, and don’t ask again</h1>
      <p class="lede">
        Approves this call of {formatToolName(row.tool)} by {row.agentName}, and creates a standing
        rule: calls that it covers run without an approval until it ends, also when the run has read
        text by guests or from outside. The policy still has to allow them. You can revoke the rule
        on the <TextLink href="/policy#rules">policy page</TextLink>.
      </p>
      <ErrorSummary problem={form.problem} />
      <Block title="This call">
        <ArgumentsBlock parts={row.showArguments(2)} />
      </Block>
      {rule && <Preview {...props} rule={rule} />}
      <Block title="Change what the rule covers">
        <RuleForm {...props} />
      </Block>
    </Layout>
  )
}

/** The rule as it would be created. Its form sends what is shown, not what was typed since. */
const Preview: FC<RulePageProps & { rule: PreparedRule }> = ({ row, rule, form }) => (
  <section class="block" id="preview">
    <h2>Calls that will run without an approval</h2>
    <RuleScopeList
      rule={{
        ...rule,
        community: rule.community?.name ?? null,
        requester: rule.requester?.name ?? null,
      }}
    />
    <p>
      Until <time datetime={toIso(rule.endsAt)}>{formatExact(rule.endsAt)}</time>.
    </p>
    <form class="form up3" method="post" action={rulePath(row.id)}>
      <FormKey />
      {Object.entries(form.typed).map(([name, text]) => (
        <input type="hidden" name={name} value={text} />
      ))}
      <div class="acts">
        <Submit isMain name="do" value="create">
          Approve, and don’t ask again
        </Submit>
        <TextLink href="/approvals">Cancel</TextLink>
      </div>
    </form>
  </section>
)

const RuleForm: FC<RulePageProps> = ({ row, varying, form }) => (
  <form class="form" method="post" action={rulePath(row.id)}>
    <FormKey />
    {varying.map(({ name, field }) => (
      <Field
        form={form}
        name={field}
        label={`${name} may be any text that begins with`}
        autocomplete="off"
        spellcheck={false}
        hint="Empty: exactly as in this call. A prefix ends with a space, /, :, # or a comma."
      />
    ))}
    <Checkbox
      form={form}
      name="any_community"
      label="In any community, and outside of communities"
    />
    <Checkbox form={form} name="any_requester" label="Whoever requests" />
    <Field
      form={form}
      name="days"
      label="Days"
      type="number"
      min="1"
      max={String(standingRules.daysMax)}
      required
    />
    <div class="acts">
      <Submit name="do" value="preview">
        Preview rule
      </Submit>
    </div>
  </form>
)

/** A text argument of the call that may vary behind a prefix, with the field for the prefix. */
interface VaryingArgument {
  name: string
  value: string
  field: string
}

/** Returns the text arguments of a call; none when the arguments are no JSON object. */
function listVarying(raw: string): VaryingArgument[] {
  const args = parse(raw)
  if (typeof args !== 'object' || args === null || Array.isArray(args)) return []
  return Object.entries(args).flatMap(([name, value], index) =>
    typeof value === 'string' ? [{ name, value, field: `prefix_${index}` }] : [],
  )
}

function parse(raw: string): unknown {
  try {
    return raw.trim() === '' ? {} : JSON.parse(raw)
  } catch {
    return null
  }
}

/** The form of a rule: a prefix for each text argument, and what else it covers. */
const ruleForm = (varying: readonly VaryingArgument[]): FormDefinition<string> => ({
  rejected: 'The rule was not created.',
  fields: {
    ...Object.fromEntries(varying.map(({ field }) => [field, {}])),
    any_community: { parse: isChecked },
    any_requester: { parse: isChecked },
    days: {
      parse: Number,
      message: `Days must be a whole number from 1 to ${standingRules.daysMax}.`,
    },
  },
})

/** The schema of that form. */
const ruleFormSchema = (varying: readonly VaryingArgument[]): z.ZodType<RuleInput> =>
  z.record(z.string(), z.unknown()).transform((fields, check): RuleInput => {
    const prefixes = Object.fromEntries(
      varying.flatMap(({ name, field }) => (fields[field] ? [[name, fields[field]]] : [])),
    )
    const { any_community, any_requester, days } = fields
    const parsed = ruleInput.safeParse({ prefixes, any_community, any_requester, days })
    if (parsed.success) return parsed.data
    for (const issue of parsed.error.issues) {
      check.addIssue({ code: 'custom', path: [...issue.path], message: describeIssue(issue) })
    }
    return z.NEVER
  })

/** The rule that covers the least. */
const narrowestRule: RuleInput = ruleInput.parse({})

const narrowestTyped = (varying: readonly VaryingArgument[]): Record<string, string> => ({
  ...Object.fromEntries(varying.map(({ field }) => [field, ''])),
  any_community: '',
  any_requester: '',
  days: String(standingRules.daysDefault),
})

/** What a rule covers, of one that exists or would be created. */
interface ShownRule {
  agentName: string
  tool: string
  grant: string
  arguments: readonly ArgumentRule[]
  /** Whether the values are left out, because its call was of a private run. */
  isHidden?: boolean
  isAnywhere: boolean
  /** Null: outside of communities, unless it holds anywhere. */
  community: string | null
  /** Null: whoever requests. */
  requester: string | null
}

const quote = (value: unknown): string => escapeInvisible(JSON.stringify(value))

const formatRule = (rule: ArgumentRule, isHidden = false): string => {
  const [verb, value] = rule.kind === 'exact' ? ['is', rule.value] : ['begins with', rule.prefix]
  return `${verb} ${isHidden ? 'a value of a private run' : quote(value)}`
}

function formatPlace({ isAnywhere, community }: ShownRule): string {
  if (isAnywhere) return 'In any community, and outside of communities'
  return community === null ? 'Only outside of communities' : `Only in threads of m/${community}`
}

/** Shows exactly which calls a rule covers. */
export const RuleScopeList: FC<{ rule: ShownRule }> = ({ rule }) => (
  <>
    <p>
      <strong>{rule.agentName}</strong> uses <strong>{formatToolName(rule.tool)}</strong> with the
      grant <code>{escapeInvisible(rule.grant)}</code>
      {rule.arguments.length === 0
        ? ', without arguments.'
        : ', with these arguments and no other:'}
    </p>
    {rule.arguments.length > 0 && (
      <div class="code up2" dir="ltr">
        {rule.arguments
          .map((each) => `${escapeInvisible(each.name)} ${formatRule(each, rule.isHidden)}`)
          .join('\n')}
      </div>
    )}
    <p class="up2">
      {formatPlace(rule)},{' '}
      {rule.requester === null ? 'whoever requests' : `only when @${rule.requester} requests`}.
    </p>
  </>
)
