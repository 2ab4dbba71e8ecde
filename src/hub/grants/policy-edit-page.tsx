import type { FC } from 'hono/jsx'
import type { ErrorDetail } from '../../errors'
import { AdminTabs } from '../web/admin-tabs'
import type { FormProblem, Frame } from '../web/frame'
import { Layout } from '../web/layout'
import { Problem } from '../web/problem'
import { Who } from '../web/who'
import { ChangeList } from './change-list'
import { policyPath, Rules } from './policy-list'
import { type AccountPolicyRow, readDefault, readOwn } from './policy-queries'
import { fieldWords, type PolicyText, policyFields, sayPlace, writePolicyText } from './policy-text'
import type { PolicyChange } from './preview'

export interface PolicyEditPageProps {
  frame: Frame
  row: AccountPolicyRow
  /** The grants that its definition asks for in vain. */
  dropped: string[]
  typed: PolicyText
  /** What the typed policy would change; null before somebody asked. */
  preview: { changes: PolicyChange[]; warnings: ErrorDetail[] } | null
  /** What would change without its own policy; null when there is none. */
  withoutOwn: PolicyChange[] | null
  problem: FormProblem | null
}

/** One policy: what it says, what another would change, and then saving it. */
export const PolicyEditPage: FC<PolicyEditPageProps> = (props) => {
  const { frame, row, dropped, problem, withoutOwn } = props
  const title = row.id === '*' ? 'The default policy' : `Policy of ${row.name}`
  return (
    <Layout frame={frame} title={title} place="admin" sheet="admin">
      <AdminTabs here="policy" isAdmin />
      <h1>{title}</h1>
      {row.id !== '*' && (
        <div class="by up2">
          <Who name={row.name} kind={row.kind} />
        </div>
      )}
      <p class="lede">{explain(row)}</p>
      {dropped.length > 0 && (
        <p class="up3">
          <span class="warn">Its definition asks in vain for</span>{' '}
          <Rules rules={dropped} none="" />
        </p>
      )}
      <div class="up4">
        <Problem problem={problem} />
      </div>
      <PolicyForm {...props} />
      {withoutOwn && <BackToDefault row={row} changes={withoutOwn} />}
    </Layout>
  )
}

function explain(row: AccountPolicyRow): string {
  if (row.id === '*') {
    return 'It holds for everybody without rules of their own. What it denies, and what it wants a person’s yes for, holds for all.'
  }
  return readOwn(row)
    ? 'What is allowed here takes the place of what the default allows; the other rules add to the default’s.'
    : 'The default holds. Rules that you save here take the place of what it allows, and add to its other rules.'
}

const notes: Record<keyof PolicyText, string> = {
  allowed: 'Grants, one a line: hub:read, github:*, http:weather:read. A * at the end is the rest.',
  denied: 'Grants, one a line. What is denied stays denied, whatever else is allowed.',
  require_approval: 'Grants, tier:write or tool:hub_create_post, one a line.',
  rate_limits:
    'One a line: 20 per hour, or 5 per day of tool:hub_create_post, or 100 per hour of github:* in each thread.',
}

const PolicyForm: FC<PolicyEditPageProps> = ({ row, typed, preview, problem }) => {
  const common = row.id === '*' ? null : writePolicyText(readDefault(row))
  return (
    <form class="form wide up4" method="post" action={policyPath(row.name)}>
      <input type="hidden" name="seen_at" value={String(row.updatedAt ?? 0)} />
      <fieldset class="two">
        {policyFields.map((field) => (
          <div>
            <label for={field}>{fieldWords[field]}</label>
            <textarea
              id={field}
              name={field}
              rows={4}
              spellcheck={false}
              autocomplete="off"
              aria-describedby={`${field}-note`}
            >
              {typed[field]}
            </textarea>
            <p class="meta" id={`${field}-note`}>
              {notes[field]}
              {common?.[field] && (
                <>
                  {' '}
                  The default{field === 'allowed' && ', which this replaces'}:{' '}
                  <code>{common[field].split('\n').join(', ')}</code>
                </>
              )}
            </p>
          </div>
        ))}
      </fieldset>
      {preview && <Preview {...preview} />}
      <div class="acts">
        {preview && !problem && (
          <button type="submit" class="btn go" name="do" value="save">
            Save
          </button>
        )}
        <button type="submit" class={preview ? 'btn' : 'btn go'} name="do" value="preview">
          Show what it changes
        </button>
        <a class="ul" href="/policy">
          Leave it as it is
        </a>
      </div>
    </form>
  )
}

const Preview: FC<{ changes: PolicyChange[]; warnings: ErrorDetail[] }> = (props) => (
  <section class="block" id="changes" aria-label="What it changes">
    <h2>What it changes, once it is saved</h2>
    <ChangeList changes={props.changes} />
    {props.warnings.length > 0 && (
      <ul class="up3">
        {props.warnings.map((warning) => (
          <li class="warn">{sayPlace(warning)}</li>
        ))}
      </ul>
    )}
  </section>
)

const BackToDefault: FC<{ row: AccountPolicyRow; changes: PolicyChange[] }> = (props) => (
  <details class="danger up6">
    <summary>Remove the rules of its own</summary>
    <form class="up3" method="post" action={policyPath(props.row.name)}>
      <input type="hidden" name="seen_at" value={String(props.row.updatedAt ?? 0)} />
      <p>The default holds then.</p>
      <ChangeList changes={props.changes} />
      <p class="up3">
        <button type="submit" class="btn" name="do" value="remove">
          Remove them
        </button>
      </p>
    </form>
  </details>
)
