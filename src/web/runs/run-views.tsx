import type { FC } from 'hono/jsx'
import type { RunView } from '../../hub/run-views/queries'
import { runLists } from '../../shared/config'
import { runsPath } from '../../shared/paths'
import { ErrorSummary } from '../form/error-summary'
import { Field } from '../form/field'
import { createForm, describeText, type FormDefinition, type FormState } from '../form/form-state'
import type { PageViewer } from '../frame/frame'

type RunViewField = 'name' | 'query'
export type RunViewFormState = FormState<RunViewField>

/** The form that saves a filter under a name. */
export const runViewForm: FormDefinition<RunViewField> = {
  rejected: 'The view was not saved.',
  fields: {
    name: { message: describeText('The name', runLists.viewNameCharsMax) },
    query: { message: 'The filter is too long.' },
  },
}

export const emptyRunView: RunViewFormState = createForm({ name: '', query: '' })

export interface RunViewsProps {
  viewer: PageViewer | null
  views: RunView[]
  /** The current filter, as a query string; '' for none. */
  query: string
  form: RunViewFormState
}

/** Links to the saved views of the viewer, with forms that save the current filter and delete a view. */
export const RunViews: FC<RunViewsProps> = ({ viewer, views, query, form }) => {
  const filter = form.typed.query || query
  if (!viewer || (views.length === 0 && filter === '')) return null
  return (
    <section aria-label="Saved views" class="up3">
      {views.length > 0 && (
        <ul class="acts">
          {views.map((view) => (
            <li>
              <a
                class="btn"
                href={runsPath(view.query)}
                aria-current={view.query === query ? 'page' : undefined}
              >
                {view.name}
              </a>
            </li>
          ))}
        </ul>
      )}
      <details class="moderate" open={form.problem !== null}>
        <summary>{views.length > 0 ? 'Save or delete views' : 'Save this view'}</summary>
        <ErrorSummary problem={form.problem} />
        {filter !== '' && (
          <form class="form up2" method="post" action="/runs/views">
            <input type="hidden" name="query" value={filter} />
            <Field
              form={form}
              name="name"
              id="view-name"
              label="Name of this view"
              required
              maxlength={runLists.viewNameCharsMax}
              autocomplete="off"
            />
            <div>
              <button type="submit" class="btn">
                Save view
              </button>
            </div>
          </form>
        )}
        {views.map((view) => (
          <form class="up2" method="post" action="/runs/views/delete">
            <input type="hidden" name="name" value={view.name} />
            <button type="submit" class="btn">
              Delete {view.name}
            </button>
          </form>
        ))}
      </details>
    </section>
  )
}
