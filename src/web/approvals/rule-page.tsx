import type { FC } from 'hono/jsx'
import type { PreparedRule } from '../../hub/approvals/prepare-rule'
import type { VisibleApproval } from '../../hub/approvals/redact-approval'
import { formatToolName } from '../../hub/traces/run-labels'
import { standingRules } from '../../shared/config'
import { formatExact, toIso } from '../../shared/format'
import { Checkbox } from '../form/checkbox'
import { ErrorSummary } from '../form/error-summary'
import { Field } from '../form/field'
import type { FormState } from '../form/form-state'
import { FormKey } from '../frame/form-key'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { rulePath } from './approval-paths'
import { ArgumentsBlock } from './arguments-block'
import type { VaryingArgument } from './rule-form'
import { RuleScopeList } from './rule-scope'

export interface RulePageProps {
  frame: Frame
  row: VisibleApproval
  varying: readonly VaryingArgument[]
  form: FormState<string>
  /** What the rule of the form would cover; null when it cannot be created. */
  rule: PreparedRule | null
}

/** Shows what a standing rule would cover, with the button that approves the call and creates the rule. */
export const RulePage: FC<RulePageProps> = (props) => {
  const { frame, row, form, rule } = props
  return (
    <Layout frame={frame} title="Approve, and don’t ask again" place="approvals" sheet="admin">
      <h1>Approve, and don’t ask again</h1>
      <p class="lede">
        Approves this call of {formatToolName(row.tool)} by {row.agentName}, and creates a standing
        rule: calls that it covers run without an approval until it ends, also when the run has read
        text by guests or from outside. The policy still has to allow them. You can revoke the rule
        on the{' '}
        <a class="ul" href="/policy#rules">
          policy page
        </a>
        .
      </p>
      <ErrorSummary problem={form.problem} />
      <section class="block">
        <h2>This call</h2>
        <ArgumentsBlock parts={row.showArguments(2)} />
      </section>
      {rule && <Preview {...props} rule={rule} />}
      <section class="block">
        <h2>Change what the rule covers</h2>
        <RuleForm {...props} />
      </section>
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
        community: rule.community?.communityName ?? null,
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
        <button type="submit" class="btn go" name="do" value="create">
          Approve, and don’t ask again
        </button>
        <a class="ul" href="/approvals">
          Cancel
        </a>
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
      <button type="submit" class="btn" name="do" value="preview">
        Preview rule
      </button>
    </div>
  </form>
)
