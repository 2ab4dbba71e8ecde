import type { FC } from 'hono/jsx'
import { policyLabels, policyNotes } from '../../hub/grants/policy-labels'
import { type AccountPolicyRow, readDefaultPolicy } from '../../hub/grants/policy-queries'
import type { PolicyChange } from '../../hub/grants/preview'
import type { ErrorDetail } from '../../shared/errors'
import { ErrorSummary } from '../form/error-summary'
import { Field } from '../form/field'
import { AdminTabs } from '../frame/admin-tabs'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { AccountLink } from '../parts/account-link'
import { ChangeList } from './change-list'
import { type LineHolders, LineHoldersList } from './line-holders'
import {
  formatPolicyError,
  type PolicyFormState,
  policyFields,
  toPolicyValues,
} from './policy-form-values'
import { policyPath, Rules } from './policy-list'

interface PolicyPreview {
  changes: PolicyChange[]
  warnings: ErrorDetail[]
  holders: LineHolders[]
}

export interface PolicyEditPageProps {
  frame: Frame
  row: AccountPolicyRow
  /** Grants that the definition requests and the policy doesn't grant. */
  notGranted: string[]
  form: PolicyFormState
  /** Changes that the submitted policy would make; null before a preview. */
  preview: PolicyPreview | null
  /** Changes if the account's own policy were deleted; null without one. */
  withoutOwn: PolicyChange[] | null
}

/** Shows the form of a policy, with a preview of its changes before saving. */
export const PolicyEditPage: FC<PolicyEditPageProps> = (props) => {
  const { frame, row, notGranted: dropped, form, withoutOwn } = props
  const title = row.id === '*' ? 'Default policy' : `Policy of ${row.name}`
  return (
    <Layout frame={frame} title={title} place="admin" sheet="admin">
      <AdminTabs here="policy" isAdmin />
      <h1>{title}</h1>
      {row.id !== '*' && (
        <div class="by up2">
          <AccountLink name={row.name} kind={row.kind} />
        </div>
      )}
      <p class="lede">{formatScope(row)}</p>
      {dropped.length > 0 && (
        <p class="up3">
          <span class="warn">Requested but not granted:</span> <Rules rules={dropped} none="" />
        </p>
      )}
      <div class="up4">
        <ErrorSummary problem={form.problem} />
      </div>
      <PolicyForm {...props} />
      {withoutOwn && <DeleteOwnPolicy row={row} changes={withoutOwn} />}
    </Layout>
  )
}

function formatScope(row: AccountPolicyRow): string {
  if (row.id === '*') {
    return 'Applies to all accounts without their own rules. Its denials, approval rules and rate limits apply to all accounts.'
  }
  return row.own
    ? 'The allowed grants replace those of the default policy. The other rules are added to the default rules.'
    : 'The default policy applies. Allowed grants that you save here replace those of the default. Other rules are added to it.'
}

const PolicyForm: FC<PolicyEditPageProps> = ({ row, form, preview }) => {
  const defaults = row.id === '*' ? null : toPolicyValues(readDefaultPolicy(row))
  return (
    <form class="form wide up4" method="post" action={policyPath(row.name)}>
      <input type="hidden" name="seen_at" value={String(row.updatedAt ?? 0)} />
      <fieldset class="two">
        {policyFields.map((field) => (
          <Field
            form={form}
            as="textarea"
            name={field}
            label={policyLabels[field]}
            rows={4}
            spellcheck={false}
            autocomplete="off"
            hint={
              <>
                {policyNotes[field]}
                {defaults?.[field] && (
                  <>
                    {' '}
                    Default{field === 'allowed' && ', replaced by this field'}:{' '}
                    <code>{defaults[field].split('\n').join(', ')}</code>
                  </>
                )}
              </>
            }
          />
        ))}
      </fieldset>
      {preview && <Preview {...preview} />}
      <div class="acts">
        {preview && !form.problem && (
          <button type="submit" class="btn go" name="do" value="save">
            Save
          </button>
        )}
        <button type="submit" class={preview ? 'btn' : 'btn go'} name="do" value="preview">
          Preview changes
        </button>
        <a class="ul" href="/policy">
          Cancel
        </a>
      </div>
    </form>
  )
}

const Preview: FC<PolicyPreview> = (props) => (
  <section class="block" id="changes" aria-label="Preview of changes">
    <h2>Changes after saving</h2>
    <ChangeList changes={props.changes} />
    {props.warnings.length > 0 && (
      <ul class="up3">
        {props.warnings.map((warning) => (
          <li class="warn">{formatPolicyError(warning)}</li>
        ))}
      </ul>
    )}
    <h3 class="up4">For whom each line holds now</h3>
    <LineHoldersList of={props.holders} />
  </section>
)

const DeleteOwnPolicy: FC<{ row: AccountPolicyRow; changes: PolicyChange[] }> = (props) => (
  <details class="danger up6">
    <summary>Delete this account’s own rules</summary>
    <form class="up3" method="post" action={policyPath(props.row.name)}>
      <input type="hidden" name="seen_at" value={String(props.row.updatedAt ?? 0)} />
      <p>The default policy then applies.</p>
      <ChangeList changes={props.changes} />
      <p class="up3">
        <button type="submit" class="btn" name="do" value="remove">
          Delete rules
        </button>
      </p>
    </form>
  </details>
)
