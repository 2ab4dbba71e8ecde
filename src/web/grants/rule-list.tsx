import type { FC } from 'hono/jsx'
import type { RuleState, RuleStates } from '../../hub/standing-rules/read-rules'
import { formatExact, formatPlural, toIso } from '../../shared/format'
import { RuleScopeList } from '../approvals/rule-scope'
import { RelativeTime } from '../parts/relative-time'

const stateLabels: Record<RuleState, string> = {
  active: 'active',
  expired: 'expired',
  revoked: 'revoked',
  creator: 'ended: its creator can no longer approve',
  tool_changed: 'ended: the tool has changed',
}

/** Lists the standing rules with their uses, and the button that revokes one. */
export const RuleList: FC<{ rules: RuleStates; now: number }> = ({ rules, now }) => (
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
    <RuleScopeList rule={row} />
    <p class="meta up2">
      {stateLabels[state]}
      {state === 'active' && (
        <>
          {' '}
          until <time datetime={toIso(row.endsAt)}>{formatExact(row.endsAt)}</time>
        </>
      )}
      ; created by @{row.by} <RelativeTime at={row.createdAt} now={now} />;{' '}
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
        <button
          type="submit"
          class="btn"
          aria-label={`Revoke the rule of ${row.agentName} for ${row.tool}`}
        >
          Revoke
        </button>
      </form>
    )}
  </article>
)
