import type { FC } from 'hono/jsx'
import type { RuleState, RuleStates } from '../../hub/approvals/actions'
import type { ModeratorOfRow } from '../../hub/communities/queries'
import type { RateLimit, ToolCatalog } from '../../hub/contract/hub'
import { listModerated, parsePolicyLine } from '../../hub/contract/policy-line'
import { type Policy, policyLabels } from '../../hub/grants/policy'
import { findNotGranted } from '../../hub/grants/preview'
import { type AccountPolicyRow, toEffectivePolicy } from '../../hub/grants/queries'
import type { ErrorDetail } from '../../shared/errors'
import { formatExact, formatPlural, toIso } from '../../shared/format'
import { RuleScopeList } from '../approvals/rule-page'
import { Submit } from '../form/fields'
import { type FormDefinition, type FormState, type Typed, toLines } from '../form/form-state'
import type { Frame } from '../frame/frame'
import { AdminTabs, Layout } from '../frame/layout'
import { Block } from '../parts/block'
import { AccountLink, TextLink } from '../parts/links'
import { Pager, TableHead } from '../parts/lists'
import { RelativeTime } from '../parts/times'

interface PolicyPageProps {
  frame: Frame
  default: AccountPolicyRow | undefined
  accounts: AccountPolicyRow[]
  /** Link to the next page; null on the last one. */
  next: string | null
  tools: ToolCatalog
  rules: RuleStates
}

/** Shows the default policy, and all agents and accounts with their own rules. */
export const PolicyPage: FC<PolicyPageProps> = (props) => {
  const { frame, accounts, tools, rules } = props
  return (
    <Layout frame={frame} title="Policy" place="policy" sheet="admin">
      <AdminTabs here="policy" isAdmin />
      <h1>Policy</h1>
      <p class="lede">
        An agent can use a tool when its definition requests the tool’s grant, the policy allows the
        grant for every requester of the run, and no rule denies it. A line applies to members
        unless it names others, as in <code>hub:read for guests</code>. Changes apply from the next
        call on.
      </p>
      {props.default && <Default row={props.default} now={frame.now} />}
      <Block title="Agents, and other accounts with their own rules">
        {accounts.length === 0 ? (
          <div class="empty">
            <p>
              <strong>No agents yet.</strong>
              The default policy applies to every account with a key.
            </p>
          </div>
        ) : (
          <table class="tbl fold">
            <TableHead
              columns={[
                'Account',
                'Usable tools',
                'Rules',
                'Requested but not granted',
                { hidden: 'Edit' },
              ]}
            />
            <tbody>
              {accounts.map((row) => (
                <AccountRow row={row} tools={tools} />
              ))}
            </tbody>
          </table>
        )}
        <Pager href={props.next}>More accounts</Pager>
        <p class="meta">
          To edit the policy of another account, open <code>/policy/name</code>.
        </p>
      </Block>
      <RuleList rules={rules} now={frame.now} />
    </Layout>
  )
}

const Default: FC<{ row: AccountPolicyRow; now: number }> = ({ row, now }) => {
  const { own } = row
  return (
    <section class="block" id="default">
      <h2>
        Default{' '}
        <span class="meta">
          for accounts without their own rules
          {row.updatedAt !== null && row.updatedAt > 0 && (
            <>
              , changed by {row.updatedBy ?? 'the hub'}{' '}
              <RelativeTime at={row.updatedAt} now={now} />
            </>
          )}
        </span>
      </h2>
      <dl class="def">
        <dt>{policyLabels.allowed}</dt>
        <dd>
          <Rules rules={own?.allowed ?? []} none="none" />
        </dd>
        <dt>{policyLabels.denied}</dt>
        <dd>
          <Rules rules={own?.denied ?? []} none="none" />
        </dd>
        <dt>{policyLabels.require_approval}</dt>
        <dd>
          <Rules rules={own?.requireApproval ?? []} none="none" />
        </dd>
        <dt>{policyLabels.rate_limits}</dt>
        <dd>
          <Rules rules={(own?.rateLimits ?? []).map(formatRateLimit)} none="no limit" />
        </dd>
      </dl>
      <p class="up3">
        <a class="btn" href={policyPath('*')}>
          Edit default policy
        </a>
      </p>
    </section>
  )
}

const AccountRow: FC<{ row: AccountPolicyRow; tools: ToolCatalog }> = ({ row, tools }) => {
  const policy = toEffectivePolicy(row)
  const usable = tools.evaluatePolicy(policy).filter(({ isAllowed }) => isAllowed)
  const dropped = findNotGranted(policy, tools)
  return (
    <tr id={row.name} data-row>
      <td>
        <AccountLink name={row.name} kind={row.kind} />
      </td>
      <td class="whole" data-l="Usable tools">
        {usable.length} of {formatPlural(tools.names.length, 'tool', 'tools')}
      </td>
      <td class="whole" data-l="Rules">
        {row.own ? 'own' : <span class="meta">default</span>}
      </td>
      <td class="whole" data-l="Requested but not granted">
        {dropped.length > 0 ? (
          <span class="rules warn">
            {dropped.map((grant) => (
              <code>{grant}</code>
            ))}
          </span>
        ) : (
          <span class="meta">none</span>
        )}
      </td>
      <td class="r">
        <TextLink href={policyPath(row.name)}>
          Edit<span class="vh"> the rules of {row.name}</span>
        </TextLink>
      </td>
    </tr>
  )
}

export const policyPath = (name: string): string => `/policy/${encodeURIComponent(name)}`

/** Shows rules in one line, or `none` without any. */
export const Rules: FC<{ rules: readonly string[]; none: string }> = ({ rules, none }) =>
  rules.length === 0 ? (
    <span class="meta">{none}</span>
  ) : (
    <span class="rules">
      {rules.map((rule) => (
        <code>{rule}</code>
      ))}
    </span>
  )

const stateLabels: Record<RuleState, string> = {
  active: 'active',
  expired: 'expired',
  revoked: 'revoked',
  creator: 'ended: its creator can no longer approve',
  tool_changed: 'ended: the tool has changed',
}

/** Lists the standing rules with their uses, and the button that revokes one. */
const RuleList: FC<{ rules: RuleStates; now: number }> = ({ rules, now }) => (
  <section class="block" id="rules">
    <h2>
      Standing rules{' '}
      <span class="meta">calls that run without the approval they would require</span>
    </h2>
    {rules.length === 0 ? (
      <div class="empty">
        <p>
          <strong>No standing rules.</strong>
          Create one from a call that waits for approval, with “Approve, and don’t ask again”.
        </p>
      </div>
    ) : (
      rules.map((each) => <Rule of={each} now={now} />)
    )}
  </section>
)

const Rule: FC<{ of: RuleStates[number]; now: number }> = ({ of: { row, state }, now }) => (
  <article class="up4" data-rule={row.id}>
    <RuleScopeList
      rule={{
        ...row,
        agentName: row.agent.name,
        community: row.community?.name ?? null,
        requester: row.requester?.name ?? null,
      }}
    />
    <p class="meta up2">
      {stateLabels[state]}
      {state === 'active' && (
        <>
          {' '}
          until <time datetime={toIso(row.endsAt)}>{formatExact(row.endsAt)}</time>
        </>
      )}
      ; created by @{row.createdBy.name} <RelativeTime at={row.createdAt} now={now} />;{' '}
      {row.uses === 0 ? (
        'not used yet'
      ) : (
        <>
          used {formatPlural(row.uses, 'time', 'times')}
          {row.lastUsedAt !== null && (
            <>
              , last <RelativeTime at={row.lastUsedAt} now={now} />
            </>
          )}
        </>
      )}
    </p>
    {state !== 'revoked' && state !== 'creator' && state !== 'expired' && (
      <form
        class="up2"
        method="post"
        action={`/standing-rules/${encodeURIComponent(row.id)}/revoke`}
      >
        <Submit aria-label={`Revoke the rule of ${row.agent.name} for ${row.tool}`}>Revoke</Submit>
      </form>
    )}
  </article>
)

/** A line of a policy, and for whose requests it holds now. */
export interface LineHolders {
  line: string
  holders: string
}

const namesShown = 12

const groupLabels: Record<string, string> = {
  guests: 'everybody, guests included',
  members: 'members and admins',
  admins: 'admins',
  exploration: 'explorations of the hub itself',
}

/** Returns for whom each line holds, with the names of the moderators of communities. */
export function listHolders(
  lines: readonly string[],
  moderators: readonly ModeratorOfRow[],
): LineHolders[] {
  return lines.map((line) => ({
    line,
    holders: [
      parsePolicyLine(line).credential === 'requester' ? 'with their own connected accounts: ' : '',
      formatHolders(line, moderators),
    ].join(''),
  }))
}

const formatHolders = (line: string, moderators: readonly ModeratorOfRow[]): string =>
  parsePolicyLine(line)
    .holdsFor.map((group) => {
      const [community] = listModerated(`x for ${group}`)
      return community === undefined
        ? (groupLabels[group] ?? group)
        : `moderators of m/${community}: ${formatNames(community, moderators)}`
    })
    .join('; ')

function formatNames(community: string, moderators: readonly ModeratorOfRow[]): string {
  const names = moderators
    .filter((each) => each.community === community)
    .map(({ name }) => `@${name}`)
  const rest = names.length - namesShown
  if (names.length === 0) return 'nobody'
  return `${names.slice(0, namesShown).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`
}

/** Shows for whom each line holds now. */
export const LineHoldersList: FC<{ of: readonly LineHolders[] }> = ({ of }) => (
  <dl class="def up3">
    {of.map(({ line, holders }) => (
      <>
        <dt>
          <code>{line}</code>
        </dt>
        <dd>{holders}</dd>
      </>
    ))}
  </dl>
)

/** The fields of the policy form, one rule per line. */
export const policyFields = ['allowed', 'denied', 'require_approval', 'rate_limits'] as const
type PolicyField = (typeof policyFields)[number]
type PolicyFormValues = Typed<PolicyField>
export type PolicyFormState = FormState<PolicyField>

/** A rate limit as `20 per hour`, `5 per day of tool:hub_create_post`, `100 per hour of github:* in each thread`. */
const limitPattern = /^(\d{1,7}) per (minute|hour|day)((?: of \S+){0,2})( in each thread)?$/

/** The form of a policy. A rate limit that can't be parsed is null, which the schema rejects at its line. */
export const policyForm: FormDefinition<PolicyField> = {
  rejected: 'The policy is not valid.',
  fields: {
    allowed: { parse: toLines },
    denied: { parse: toLines },
    require_approval: { parse: toLines },
    rate_limits: { parse: (text) => toLines(text).map(parseRateLimit) },
  },
  formatDetail: formatPolicyError,
}

function parseRateLimit(line: string): object | null {
  const [, limit, per, targets = '', thread] = limitPattern.exec(line.replace(/\s+/g, ' ')) ?? []
  if (limit === undefined) return null
  const parts = targets.split(' of ').filter((part) => part !== '')
  const tool = parts.find((part) => part.startsWith('tool:'))?.slice('tool:'.length)
  const grant = parts.find((part) => !part.startsWith('tool:'))
  return {
    limit: Number(limit),
    per,
    scope: thread === undefined ? 'agent' : 'session',
    ...(tool !== undefined && { tool }),
    ...(grant !== undefined && { grant }),
  }
}

/** Formats a rate limit as the form accepts it. */
export const formatRateLimit = ({ limit, per, tool, grant, scope }: RateLimit): string =>
  [
    `${limit} per ${per}`,
    ...(tool === undefined ? [] : [`of tool:${tool}`]),
    ...(grant === undefined ? [] : [`of ${grant}`]),
    ...(scope === 'session' ? ['in each thread'] : []),
  ].join(' ')

export const toPolicyValues = (policy: Policy): PolicyFormValues => ({
  allowed: policy.allowed.join('\n'),
  denied: policy.denied.join('\n'),
  require_approval: policy.requireApproval.join('\n'),
  rate_limits: policy.rateLimits.map(formatRateLimit).join('\n'),
})

/** Formats an error with the label of its field and its line: `denied.2` is `Denied, line 3`. */
export function formatPolicyError({ path, message }: ErrorDetail): string {
  const [field = '', index, part] = path.replace(/^body\./, '').split('.')
  const label = policyLabels[field as PolicyField] ?? field
  const isUnreadable = field === 'rate_limits' && index !== undefined && part === undefined
  const text = isUnreadable ? 'Use the form "5 per day of tool:hub_create_post"' : message
  return `${label}${index === undefined ? '' : `, line ${Number(index) + 1}`}: ${text}`
}
