import type { FC } from 'hono/jsx'
import type { ToolCatalog } from '../../hub/contract/hub'
import { policyLabels } from '../../hub/grants/policy-labels'
import { type AccountPolicyRow, toEffectivePolicy } from '../../hub/grants/policy-queries'
import { findNotGranted } from '../../hub/grants/preview'
import type { RuleStates } from '../../hub/standing-rules/read-rules'
import { formatPlural } from '../../shared/format'
import { AdminTabs } from '../frame/admin-tabs'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { AccountLink } from '../parts/account-link'
import { Pager } from '../parts/pager'
import { RelativeTime } from '../parts/relative-time'
import { TableHead } from '../parts/table-head'
import { formatRateLimit } from './policy-form-values'
import { policyPath, Rules } from './policy-list'
import { RuleList } from './rule-list'

export interface PolicyPageProps {
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
    <Layout frame={frame} title="Policy" place="admin" sheet="admin">
      <AdminTabs here="policy" isAdmin />
      <h1>Policy</h1>
      <p class="lede">
        An agent can use a tool when its definition requests the tool’s grant, the policy allows the
        grant for every requester of the run, and no rule denies it. A line applies to members
        unless it names others, as in <code>hub:read for guests</code>. Changes apply from the next
        call on.
      </p>
      {props.default && <Default row={props.default} now={frame.now} />}
      <section class="block">
        <h2>Agents, and other accounts with their own rules</h2>
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
      </section>
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
        <a class="ul" href={policyPath(row.name)}>
          Edit<span class="vh"> the rules of {row.name}</span>
        </a>
      </td>
    </tr>
  )
}
