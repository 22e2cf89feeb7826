/* The door of the model lists: what code outside of gateway/ may use of them. */
export { type Checked, checkModel, unchecked } from './checkModel';
export type { ModelList } from './modelLists';
export { makesVideos, MODE_OF, type ModelRecord, suits } from './models';
export { describePrice } from './pricing';
