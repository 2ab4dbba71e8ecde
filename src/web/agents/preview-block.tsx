import type { FC } from 'hono/jsx'
import type { DefinitionFacts } from '../../agents/contract/agents'
import type { DefinitionPreview } from '../../hub/definitions/preview-definition'
import { formatMoney } from '../../shared/format'
import { Checkbox } from '../form/checkbox'
import type { FormState } from '../form/form-state'
import { FileDiffs } from './file-diff'
import { formatRunCost } from './format-run-cost'

export interface PreviewBlockProps {
  preview: DefinitionPreview
  form: FormState<string>
  /** True for a definition that creates its agent. */
  isNew: boolean
  /** False for members: only admins allow grants. */
  canAllow: boolean
}

/** Shows what saving a definition changes: model, cost, grants, tools and lines. */
export const PreviewBlock: FC<PreviewBlockProps> = ({ preview, form, isNew, canAllow }) => {
  const { before, after } = preview
  return (
    <section class="block" id="changes" aria-label="Preview of changes">
      <h2>{isNew ? 'The new agent' : 'Changes after saving'}</h2>
      <dl class="def up3">
        <dt>Name</dt>
        <dd>@{after.name}</dd>
        <dt>Model</dt>
        <dd>
          <Change before={before?.model} after={after.model} />
        </dd>
        <dt>Budget a day</dt>
        <dd>
          <Change before={before && formatDayBudget(before)} after={formatDayBudget(after)} />
        </dd>
        <dt>One run at most</dt>
        <dd>
          <Change before={before && formatRunCost(before)} after={formatRunCost(after)} />
        </dd>
        <dt>Runs unasked</dt>
        <dd>
          <Change before={before && formatUnasked(before)} after={formatUnasked(after)} />
        </dd>
        <dt>Grants</dt>
        <dd>
          <Grants {...preview} />
        </dd>
        <dt>Tools</dt>
        <dd>
          <Tools {...preview} />
        </dd>
      </dl>
      <AllowGrants preview={preview} form={form} canAllow={canAllow} />
      {!isNew && (
        <>
          <h3 class="up4">Changed lines</h3>
          <FileDiffs
            of={preview.diffs}
            none="The files are the same as those of the current version."
          />
        </>
      )}
    </section>
  )
}

const Change: FC<{ before: string | null | undefined; after: string }> = ({ before, after }) =>
  before === undefined || before === null || before === after ? (
    <span>{after}</span>
  ) : (
    <>
      <s>
        <span class="vh">before: </span>
        {before}
      </s>{' '}
      <b>
        <span class="vh">now: </span>
        {after}
      </b>
    </>
  )

const formatDayBudget = ({ budget: { costPerDayMicrousd } }: DefinitionFacts): string =>
  costPerDayMicrousd === null
    ? 'no limit of its own; the budget of the hub applies'
    : formatMoney(costPerDayMicrousd, 'budget')

function formatUnasked({ exploration, schedules }: DefinitionFacts): string {
  const causes = [
    exploration ? 'explores' : null,
    schedules.length > 0 ? `${schedules.length} scheduled` : null,
  ].filter((cause) => cause !== null)
  return causes.join(', ') || 'never'
}

const Grants: FC<DefinitionPreview> = ({ requestedMore, requestedLess, after }) => (
  <ul>
    {after.grants.length === 0 && requestedLess.length === 0 && <li>none requested</li>}
    {after.grants
      .filter((grant) => !requestedMore.includes(grant))
      .map((grant) => (
        <li>
          <code>{grant}</code>
        </li>
      ))}
    {requestedMore.map((grant) => (
      <li class="gain">
        requests <code>{grant}</code>
      </li>
    ))}
    {requestedLess.map((grant) => (
      <li class="loss">
        no longer requests <code>{grant}</code>
      </li>
    ))}
  </ul>
)

const Tools: FC<DefinitionPreview> = ({ tools: { gains, loses } }) => (
  <ul>
    {gains.length === 0 && loses.length === 0 && <li>no tool gained or lost</li>}
    {gains.map((tool) => (
      <li class="gain">
        can use <code>{tool}</code>
      </li>
    ))}
    {loses.map((tool) => (
      <li class="loss">
        can no longer use <code>{tool}</code>
      </li>
    ))}
  </ul>
)

/** Offers to allow requested grants in the same step. */
const AllowGrants: FC<Omit<PreviewBlockProps, 'isNew'>> = ({ preview, form, canAllow }) => (
  <>
    {preview.denied.length > 0 && (
      <p class="up3">
        <span class="warn">Requested but not granted:</span>{' '}
        <code>{preview.denied.join(', ')}</code>. The policy denies them, or they need a resource.
      </p>
    )}
    {preview.allowable.length > 0 && !canAllow && (
      <p class="up3">
        <span class="warn">Requested but not granted:</span>{' '}
        <code>{preview.allowable.join(', ')}</code>. An admin can allow them after you have saved.
      </p>
    )}
    {preview.allowable.length > 0 && canAllow && (
      <div class="up3">
        <input type="hidden" name="allow_grants" value={JSON.stringify(preview.allowable)} />
        <Checkbox
          form={form}
          name="allow"
          label={
            <span>
              Allow <code>{preview.allowable.join(', ')}</code>, which the policy does not allow{' '}
              {preview.after.name} yet
            </span>
          }
        />
        <p class="meta">The agent gets rules of its own with these grants added.</p>
      </div>
    )}
  </>
)
