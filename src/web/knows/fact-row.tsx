import type { FC } from 'hono/jsx'
import type { KnownFact } from '../../agents/contract/agents'
import type { SeenAgent } from '../../hub/sessions/agent-view'
import { memoryLimits } from '../../shared/config'
import { formatDay } from '../../shared/format'
import { Field } from '../form/field'
import { createForm } from '../form/form-state'
import { DeleteForm } from './delete-form'
import { knowsPath } from './knows-paths'
import { PrivacyNote, ShareForm } from './share-form'

/** A fact with its source, and for those who may the forms that correct and delete it. */
export const FactRow: FC<{ agent: SeenAgent; fact: KnownFact }> = ({ agent, fact }) => {
  const { name, view } = agent
  const isOwn = fact.privateTo === view.self || fact.sharedAt !== null
  const id = String(fact.id)
  return (
    <li data-row>
      <div>{fact.text}</div>
      <p class="meta">
        {formatDay(fact.createdAt)}
        {fact.source !== '' && `, ${fact.source}`}
        <PrivacyNote agent={agent} of={fact} />
      </p>
      {(isOwn || view.isManager) && (
        <>
          <details class="up2">
            <summary class="meta">
              Correct<span class="vh"> fact {id}</span>
            </summary>
            <form class="form up2" method="post" action={knowsPath(name)}>
              <input type="hidden" name="id" value={id} />
              <Field
                form={createForm({ text: fact.text })}
                as="textarea"
                name="text"
                id={`fact-${id}`}
                label="What is right"
                rows={3}
                required
                maxlength={memoryLimits.factCharsMax}
              />
              <div>
                <button type="submit" class="btn" name="change" value="correct_fact">
                  Save
                </button>
              </div>
            </form>
          </details>
          <div class="acts up2">
            {isOwn && (
              <ShareForm
                name={name}
                item={{ kind: 'fact', id }}
                isShared={fact.sharedAt !== null}
              />
            )}
            <DeleteForm name={name} target={{ change: 'delete_fact', id }} />
          </div>
        </>
      )}
    </li>
  )
}
